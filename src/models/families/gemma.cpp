// Gemma: Gemma Team 2024, arXiv:2403.08295: Llama with norms whose factor is 1 + the stored number, scaled
// embeddings and tanh's gelu. Checkpoints: google/gemma-2b, google/gemma-7b. Gemma 2: Gemma Team 2024,
// arXiv:2408.00118: also norms of each sublayer's result, capped scores, a window in every second layer.
// Checkpoints: google/gemma-2-*. Gemma 3: Gemma Team 2025, arXiv:2503.19786: normalized queries and keys
// instead of caps; five of six layers have a window and another rotary base. Checkpoints:
// google/gemma-3-270m, google/gemma-3-1b-*, google/embeddinggemma-300m.
#include "base/error.h"
#include "models/families/llama_decoder.h"

#include <cmath>

namespace attend {
namespace {

constexpr NormSpec gemma_norm = {.epsilon = 1e-6, .root_mean_square = true, .around_one = true};
constexpr LlamaRelative gemma_relative = {.vocabulary = 256000,
                                          .width = 3072,
                                          .inner = 24576,
                                          .layers = 28,
                                          .heads = 16,
                                          .key_heads = 16,
                                          .head_size = 256,
                                          .positions = 8192,
                                          .padding_id = 0,
                                          .norm = gemma_norm,
                                          .activation = "gelu_pytorch_tanh",
                                          .tied = true};
constexpr LlamaRelative gemma2_relative = [] {
  LlamaRelative relative = gemma_relative;
  relative.width = 2304;
  relative.inner = 9216;
  relative.layers = 26;
  relative.heads = 8;
  relative.key_heads = 4;
  relative.order = NormOrder::around;
  return relative;
}();
constexpr LlamaRelative gemma3_relative = [] {
  LlamaRelative relative = gemma2_relative;
  relative.vocabulary = 262208;
  relative.positions = 131072;
  relative.rotary_base = 1e6;
  return relative;
}();

// What all three share.
ModelSpec read_gemma(const Fields& config, std::string_view architecture, const LlamaRelative& relative) {
  ModelSpec model = llama_model(config, architecture, relative);
  EmbeddingSpec& embeddings = model.decoder->embeddings;
  embeddings.scale = std::sqrt(static_cast<double>(embeddings.width));
  const bool biases = config.flag({"attention_bias"}, false);
  for (LayerSpec& layer : model.decoder->layers)
    layer.self_attention.input_bias = layer.self_attention.output_bias = biases;
  return model;
}

// A number; null means none.
double read_cap(const Fields& config, std::string_view name, double otherwise) {
  return config.number({name}, config.json().contains(std::string(name)) ? 0 : otherwise, 0, 1e9);
}

// What the second and the third share: their scale, and windows as in layer_types, or else in all layers
// except every `pattern`-th. Returns which layers have a window.
std::vector<bool> read_newer(ModelSpec& model, const Fields& config, std::int64_t pattern) {
  const double size = config.number({"query_pre_attn_scalar"}, 256, 1e-9, 1e9);
  const Activation activation = read_activation(config, {"hidden_activation"}, "gelu_pytorch_tanh");
  std::vector<LayerSpec>& layers = model.decoder->layers;
  const std::vector<bool> sliding = read_sliding_layers(config, layers.size(), [&](std::size_t i) {
    return (static_cast<std::int64_t>(i) + 1) % pattern != 0;
  });
  const std::int64_t window = config.integer({"sliding_window"}, 4096);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].self_attention.scale = 1 / std::sqrt(size);
    layers[i].self_attention.window = sliding[i] ? window : 0;
    layers[i].feed_forward.activation = activation;
  }
  return sliding;
}

ModelSpec gemma_spec(const Fields& config, std::string_view architecture) {
  return read_gemma(config, architecture, gemma_relative);
}

ModelSpec gemma2_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = read_gemma(config, architecture, gemma2_relative);
  read_newer(model, config, 2);
  for (LayerSpec& layer : model.decoder->layers)
    layer.self_attention.soft_cap = read_cap(config, "attn_logit_softcapping", 50);
  if (model.language_model_head)
    model.language_model_head->soft_cap = read_cap(config, "final_logit_softcapping", 30);
  return model;
}

ModelSpec gemma3_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = read_gemma(config, architecture, gemma3_relative);
  StackSpec& stack = *model.decoder;
  const std::vector<bool> sliding = read_newer(model, config, config.integer({"sliding_window_pattern"}, 6));
  const bool both_ways = config.flag({"use_bidirectional_attention"}, false);
  const RotaryDefaults local = {
      .head_size = stack.layers.front().self_attention.head_size,
      .positions = config.integer({"max_position_embeddings"}, gemma3_relative.positions),
      .base = config.number({"rope_local_base_freq"}, 10000, 1e-3, 1e30)};
  stack.rotaries.push_back(read_sliding_rotary(config, local));
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    AttentionSpec& attention = stack.layers[i].self_attention;
    attention.rotary = sliding[i] ? 1 : 0;
    attention.query_key_norm = {stack.layers[i].norm, QueryKeyNorm::Of::heads};
    if (!both_ways) continue;
    attention.causal = attention.quirks.padding_sees_all = false;
    // The original halves it whenever it reads config.json, also one that it has written itself.
    if (attention.window > 0) attention.window = attention.window / 2 + 1;
  }
  if (model.language_model_head)
    model.language_model_head->soft_cap = read_cap(config, "final_logit_softcapping", 0);
  return model;
}

std::vector<WeightName> gemma_weights(const ModelSpec& model) {
  return llama_weights(model);
}

Json fresh(std::string_view model_type, std::string_view architecture, const LlamaSize& size,
           const LlamaRelative& relative) {
  Json config = fresh_llama_config(model_type, architecture, size, relative);
  config.update({{"head_dim", size.name == "tiny" ? 64 : 256},
                 {"pad_token_id", 0},
                 {"eos_token_id", 1},
                 {"bos_token_id", 2}});
  return config;
}

Json fresh_gemma(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"2B", 2048, 16384, 18, 8, 1}, {"tiny", 256, 1024, 4, 4, 1}};
  return fresh("gemma", "GemmaForCausalLM", find_size(sizes, preset), gemma_relative);
}

Json with_newer_fields(Json config, std::int64_t window) {
  config.erase("hidden_act");
  config.update({{"hidden_activation", "gelu_pytorch_tanh"},
                 {"query_pre_attn_scalar", config["head_dim"]},
                 {"sliding_window", window}});
  return config;
}

Json fresh_gemma2(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"2B", 2304, 9216, 26, 8, 4}, {"tiny", 256, 1024, 4, 4, 2}};
  Json config = with_newer_fields(
      fresh("gemma2", "Gemma2ForCausalLM", find_size(sizes, preset), gemma2_relative), 4096);
  config.update({{"attn_logit_softcapping", 50.0}, {"final_logit_softcapping", 30.0}});
  return config;
}

Json fresh_gemma3(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {
      {"270M", 640, 2048, 18, 4, 1}, {"1B", 1152, 6912, 26, 4, 1}, {"tiny", 256, 1024, 6, 4, 1}};
  Json config = with_newer_fields(
      fresh("gemma3_text", "Gemma3ForCausalLM", find_size(sizes, preset), gemma3_relative), 512);
  config["vocab_size"] = 262144;
  config["rope_local_base_freq"] = 10000.0;
  return config;
}

}  // namespace

extern const Family gemma, gemma2, gemma3_text;
const Family gemma = {
    .model_type = "gemma",
    .prefix = "model",
    .architectures = {"GemmaForCausalLM", "GemmaModel", "GemmaForSequenceClassification",
                      "GemmaForTokenClassification"},
    .spec = gemma_spec,
    .weights = gemma_weights,
    .optional_fields = llama_optional_fields({"attention_bias"}),
    .presets = {"2B", "tiny"},
    .fresh_config = fresh_gemma,
};

const Family gemma2 = {
    .model_type = "gemma2",
    .prefix = "model",
    .architectures = {"Gemma2ForCausalLM", "Gemma2Model", "Gemma2ForSequenceClassification",
                      "Gemma2ForTokenClassification"},
    .spec = gemma2_spec,
    .weights = gemma_weights,
    .optional_fields = llama_optional_fields({"attention_bias", "layer_types"}),
    .presets = {"2B", "tiny"},
    .fresh_config = fresh_gemma2,
};

const Family gemma3_text = {
    .model_type = "gemma3_text",
    .prefix = "model",
    .architectures = {"Gemma3ForCausalLM", "Gemma3TextModel", "Gemma3TextForSequenceClassification"},
    .spec = gemma3_spec,
    .weights = gemma_weights,
    .optional_fields = llama_optional_fields({"attention_bias", "layer_types", "sliding_window_pattern",
                                              "final_logit_softcapping", "use_bidirectional_attention"}),
    .presets = {"270M", "1B", "tiny"},
    .fresh_config = fresh_gemma3,
};

}  // namespace attend
