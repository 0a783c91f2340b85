// Qwen2: Yang et al. 2024, arXiv:2407.10671: Llama with biases of queries, keys and values; the last layers
// may have a window. Checkpoints: Qwen/Qwen2-*, Qwen/Qwen2.5-*, Alibaba-NLP/gte-Qwen2-*. Qwen3: Yang et al.
// 2025, arXiv:2505.09388: normalized queries and keys instead. Checkpoints: Qwen/Qwen3-*,
// Qwen/Qwen3-Embedding-*, Qwen/Qwen3-Reranker-*.
#include "models/families/llama_decoder.h"

namespace attend {
namespace {

constexpr LlamaRelative qwen2_relative = {
    .vocabulary = 151936, .inner = 22016, .key_heads = 32, .positions = 32768};
constexpr LlamaRelative qwen3_relative = {
    .vocabulary = 151936, .inner = 22016, .key_heads = 32, .head_size = 128, .positions = 32768};

// With `use_sliding_window`, layers from max_window_layers on have a window.
void read_windows(ModelSpec& model, const Fields& config) {
  std::vector<LayerSpec>& layers = model.decoder->layers;
  const bool named = config.json().contains("sliding_window");
  const std::int64_t window =
      config.flag({"use_sliding_window"}, false) ? config.integer({"sliding_window"}, named ? 0 : 4096) : 0;
  const auto first = static_cast<std::size_t>(config.integer({"max_window_layers"}, 28, 0));
  const std::vector<bool> sliding =
      read_sliding_layers(config, layers.size(), [&](std::size_t i) { return i >= first; });
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (sliding[i]) layers[i].self_attention.window = window;
}

ModelSpec qwen2_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = llama_model(config, architecture, qwen2_relative);
  for (LayerSpec& layer : model.decoder->layers) layer.self_attention.input_bias = true;
  read_windows(model, config);
  return model;
}

ModelSpec qwen3_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = llama_model(config, architecture, qwen3_relative);
  const bool biases = config.flag({"attention_bias"}, false);
  for (LayerSpec& layer : model.decoder->layers) {
    layer.self_attention.input_bias = layer.self_attention.output_bias = biases;
    layer.self_attention.query_key_norm = {layer.norm, QueryKeyNorm::Of::heads};
  }
  read_windows(model, config);
  return model;
}

std::vector<WeightName> qwen_weights(const ModelSpec& model) {
  return llama_weights(model, "transformer.");
}

Json fresh_qwen2(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {
      {"0.5B", 896, 4864, 24, 14, 2}, {"1.5B", 1536, 8960, 28, 12, 2}, {"tiny", 256, 688, 4, 4, 2}};
  LlamaRelative relative = qwen2_relative;
  relative.tied = true;
  relative.rotary_base = 1e6;
  Json config = fresh_llama_config("qwen2", "Qwen2ForCausalLM", find_size(sizes, preset), relative);
  config.update({{"bos_token_id", 151643}, {"eos_token_id", 151643}});
  return config;
}

Json fresh_qwen3(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {
      {"0.6B", 1024, 3072, 28, 16, 8}, {"1.7B", 2048, 6144, 28, 16, 8}, {"tiny", 256, 688, 4, 4, 2}};
  LlamaRelative relative = qwen3_relative;
  relative.tied = true;
  relative.rotary_base = 1e6;
  Json config = fresh_llama_config("qwen3", "Qwen3ForCausalLM", find_size(sizes, preset), relative);
  config.update(
      {{"head_dim", preset == "tiny" ? 64 : 128}, {"bos_token_id", 151643}, {"eos_token_id", 151643}});
  return config;
}

}  // namespace

extern const Family qwen2, qwen3;
const Family qwen2 = {
    .model_type = "qwen2",
    .prefix = "model",
    .architectures = {"Qwen2ForCausalLM", "Qwen2Model", "Qwen2ForSequenceClassification",
                      "Qwen2ForTokenClassification", "Qwen2ForQuestionAnswering"},
    .spec = qwen2_spec,
    .weights = qwen_weights,
    .ignored = {"model.layers.{i}.self_attn.rotary_emb.inv_freq"},
    .optional_fields =
        llama_optional_fields({"use_sliding_window", "sliding_window", "max_window_layers", "layer_types"}),
    .presets = {"0.5B", "1.5B", "tiny"},
    .fresh_config = fresh_qwen2,
};

const Family qwen3 = {
    .model_type = "qwen3",
    .prefix = "model",
    .architectures = {"Qwen3ForCausalLM", "Qwen3Model", "Qwen3ForSequenceClassification",
                      "Qwen3ForTokenClassification", "Qwen3ForQuestionAnswering"},
    .spec = qwen3_spec,
    .weights = qwen_weights,
    .optional_fields = llama_optional_fields(
        {"attention_bias", "use_sliding_window", "sliding_window", "max_window_layers", "layer_types"}),
    .presets = {"0.6B", "1.7B", "tiny"},
    .fresh_config = fresh_qwen3,
};

}  // namespace attend
