// SmolLM3: https://huggingface.co/blog/smollm3: Llama without positions in every fourth layer (Yang et al.
// 2025, arXiv:2501.18795). Checkpoints: HuggingFaceTB/SmolLM3-3B*. Granite: https://github.com/ibm-granite:
// Llama with four factors. Checkpoints: ibm-granite/granite-3.*.
#include "base/error.h"
#include "models/families/llama_decoder.h"

namespace attend {
namespace {

constexpr LlamaRelative smollm3_relative = {.vocabulary = 128256,
                                            .width = 2048,
                                            .layers = 36,
                                            .heads = 16,
                                            .key_heads = 4,
                                            .positions = 32768,
                                            .padding_id = 128004,
                                            .tied = true,
                                            .rotary_base = 2e6};
constexpr LlamaRelative granite_relative = {};

ModelSpec with_biases(const Fields& config, std::string_view architecture, const LlamaRelative& relative) {
  ModelSpec model = llama_model(config, architecture, relative);
  const bool attention = config.flag({"attention_bias"}, false), inner = config.flag({"mlp_bias"}, false);
  for (LayerSpec& layer : model.decoder->layers) {
    layer.self_attention.input_bias = layer.self_attention.output_bias = attention;
    layer.feed_forward.bias = inner;
  }
  return model;
}

// In no_rope_layers, despite its name, 1 means a layer with rotary positions.
std::vector<bool> read_turning_layers(const Fields& config, std::size_t count) {
  const std::vector<std::int64_t> stored = config.integers({"no_rope_layers"});
  const auto interval = static_cast<std::size_t>(config.integer({"no_rope_layer_interval"}, 4));
  std::vector<bool> turning;
  if (!stored.empty() && stored.size() != count)
    fail("{}: no_rope_layers: expected one for each of the {} layers, found {}", config.source(), count,
         stored.size());
  for (std::size_t i = 0; i < count; ++i)
    turning.push_back(stored.empty() ? (i + 1) % interval != 0 : stored[i] != 0);
  return turning;
}

ModelSpec smollm3_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = with_biases(config, architecture, smollm3_relative);
  std::vector<LayerSpec>& layers = model.decoder->layers;
  // transformers reads `use_sliding_window` only to choose the layers: `layer_types` comes first.
  const bool slides = config.flag({"use_sliding_window"}, false);
  const std::vector<bool> turning = read_turning_layers(config, layers.size()),
                          sliding = read_sliding_layers(config, layers.size(),
                                                        [&](std::size_t i) { return slides && !turning[i]; });
  const std::int64_t window = config.integer({"sliding_window"}, 0);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!turning[i]) layers[i].self_attention.rotary = {};
    if (sliding[i]) layers[i].self_attention.window = window;
  }
  return model;
}

ModelSpec granite_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = with_biases(config, architecture, granite_relative);
  const auto factor = [&](std::string_view name) { return config.number({name}, 1, 1e-9, 1e9); };
  model.decoder->embeddings.scale = factor("embedding_multiplier");
  for (LayerSpec& layer : model.decoder->layers) {
    layer.self_attention.scale = factor("attention_multiplier");
    layer.result_scale = factor("residual_multiplier");
  }
  if (model.language_model_head) model.language_model_head->scale = 1 / factor("logits_scaling");
  return model;
}

std::vector<WeightName> smollm3_weights(const ModelSpec& model) {
  return llama_weights(model, "transformer.");
}

Json fresh_smollm3(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"3B", 2048, 11008, 36, 16, 4}, {"tiny", 256, 688, 4, 4, 2}};
  Json config =
      fresh_llama_config("smollm3", "SmolLM3ForCausalLM", find_size(sizes, preset), smollm3_relative);
  config.update({{"pad_token_id", 128004}, {"bos_token_id", 128000}, {"eos_token_id", 128001}});
  return config;
}

Json fresh_granite(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"2B", 2048, 8192, 40, 32, 8}, {"tiny", 256, 688, 4, 4, 2}};
  Json config =
      fresh_llama_config("granite", "GraniteForCausalLM", find_size(sizes, preset), granite_relative);
  config.update({{"embedding_multiplier", 12.0},
                 {"attention_multiplier", 0.015625},
                 {"residual_multiplier", 0.22},
                 {"logits_scaling", 8.0}});
  return config;
}

}  // namespace

extern const Family smollm3, granite;
const Family smollm3 = {
    .model_type = "smollm3",
    .prefix = "model",
    .architectures = {"SmolLM3ForCausalLM", "SmolLM3Model", "SmolLM3ForSequenceClassification",
                      "SmolLM3ForTokenClassification", "SmolLM3ForQuestionAnswering"},
    .spec = smollm3_spec,
    .weights = smollm3_weights,
    .optional_fields =
        llama_optional_fields({"attention_bias", "mlp_bias", "no_rope_layers", "no_rope_layer_interval",
                               "use_sliding_window", "sliding_window", "layer_types"}),
    .presets = {"3B", "tiny"},
    .fresh_config = fresh_smollm3,
};

const Family granite = {
    .model_type = "granite",
    .prefix = "model",
    .architectures = {"GraniteForCausalLM", "GraniteModel"},
    .spec = granite_spec,
    .weights = [](const ModelSpec& model) { return llama_weights(model); },
    .optional_fields = llama_optional_fields({"attention_bias", "mlp_bias"}),
    .presets = {"2B", "tiny"},
    .fresh_config = fresh_granite,
};

}  // namespace attend
