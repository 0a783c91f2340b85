// Llama: Touvron et al. 2023, arXiv:2302.13971 and arXiv:2307.09288; Dubey et al. 2024, arXiv:2407.21783.
// Checkpoints: meta-llama/Llama-*, TinyLlama/TinyLlama-1.1B-*, HuggingFaceTB/SmolLM2-*.
// Mistral: Jiang et al. 2023, arXiv:2310.06825: the same with a window in every layer. Checkpoints:
// mistralai/Mistral-7B-*, intfloat/e5-mistral-7b-instruct.
#include "models/families/llama_decoder.h"

namespace attend {
namespace {

constexpr LlamaRelative llama_relative = {};
constexpr LlamaRelative mistral_relative = {.inner = 14336, .key_heads = 8, .positions = 131072};

ModelSpec llama_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = llama_model(config, architecture, llama_relative);
  const bool attention = config.flag({"attention_bias"}, false), inner = config.flag({"mlp_bias"}, false);
  for (LayerSpec& layer : model.decoder->layers) {
    layer.self_attention.input_bias = layer.self_attention.output_bias = attention;
    layer.feed_forward.bias = inner;
  }
  return model;
}

ModelSpec mistral_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = llama_model(config, architecture, mistral_relative);
  const bool named = config.json().contains("sliding_window");  // null means no window
  const std::int64_t window = config.integer({"sliding_window"}, named ? 0 : 4096);
  for (LayerSpec& layer : model.decoder->layers) layer.self_attention.window = window;
  return model;
}

std::vector<WeightName> weights_of_llama(const ModelSpec& model) {
  return llama_weights(model, "transformer.");
}

std::vector<WeightName> mistral_weights(const ModelSpec& model) {
  return llama_weights(model);
}

Json fresh_llama(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"135M", 576, 1536, 30, 9, 3},  {"360M", 960, 2560, 32, 15, 5},
                                        {"1B", 2048, 8192, 16, 32, 8},  {"7B", 4096, 11008, 32, 32, 32},
                                        {"8B", 4096, 14336, 32, 32, 8}, {"tiny", 256, 688, 4, 4, 2}};
  const LlamaSize& size = find_size(sizes, preset);
  LlamaRelative relative = llama_relative;
  relative.tied = size.width <= 2048;  // like the small ones of Llama 3.2 and SmolLM2
  return fresh_llama_config("llama", "LlamaForCausalLM", size, relative);
}

Json fresh_mistral(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"7B", 4096, 14336, 32, 32, 8}, {"tiny", 256, 896, 4, 4, 2}};
  Json config =
      fresh_llama_config("mistral", "MistralForCausalLM", find_size(sizes, preset), mistral_relative);
  config["sliding_window"] = 4096;
  return config;
}

}  // namespace

extern const Family llama, mistral;
const Family llama = {
    .model_type = "llama",
    .prefix = "model",
    .architectures = {"LlamaForCausalLM", "LlamaModel", "LlamaForSequenceClassification",
                      "LlamaForTokenClassification", "LlamaForQuestionAnswering"},
    .spec = llama_spec,
    .weights = weights_of_llama,
    .ignored = {"model.layers.{i}.self_attn.rotary_emb.inv_freq"},
    .optional_fields = llama_optional_fields({"attention_bias", "mlp_bias"}),
    .presets = {"135M", "360M", "1B", "7B", "8B", "tiny"},
    .fresh_config = fresh_llama,
};

const Family mistral = {
    .model_type = "mistral",
    .prefix = "model",
    .architectures = {"MistralForCausalLM", "MistralModel", "MistralForSequenceClassification",
                      "MistralForTokenClassification", "MistralForQuestionAnswering"},
    .spec = mistral_spec,
    .weights = mistral_weights,
    .ignored = {"model.layers.{i}.self_attn.rotary_emb.inv_freq"},
    .optional_fields = llama_optional_fields(),
    .presets = {"7B", "tiny"},
    .fresh_config = fresh_mistral,
};

}  // namespace attend
