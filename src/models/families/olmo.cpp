// OLMo 2: OLMo Team 2024, arXiv:2501.00656: Llama with norms of each sublayer's result, and of all query
// heads and all key heads together. Checkpoints: allenai/OLMo-2-*. OLMo 3: three of four layers have a
// window, and only the others scale their rotary positions for longer texts. Checkpoints: allenai/Olmo-3-*.
// OLMoE: Muennighoff et al. 2024, arXiv:2409.02060: experts, and norms before the sublayers as in Llama.
// Checkpoints: allenai/OLMoE-1B-7B-*.
#include "models/families/expert_fields.h"
#include "models/families/llama_decoder.h"

namespace attend {
namespace {

constexpr LlamaRelative olmo_relative = {.vocabulary = 50304,
                                         .padding_id = 1,
                                         .norm = {.epsilon = 1e-5, .root_mean_square = true},
                                         .order = NormOrder::result};

constexpr LlamaRelative olmoe_relative = {.vocabulary = 50304,
                                          .width = 2048,
                                          .inner = 2048,
                                          .layers = 16,
                                          .heads = 16,
                                          .positions = 4096,
                                          .padding_id = 1,
                                          .norm = {.epsilon = 1e-5, .root_mean_square = true}};

ModelSpec olmo_model(const Fields& config, std::string_view architecture, const LlamaRelative& relative) {
  ModelSpec model = llama_model(config, architecture, relative);
  const bool biases = config.flag({"attention_bias"}, false);
  for (LayerSpec& layer : model.decoder->layers) {
    layer.self_attention.input_bias = layer.self_attention.output_bias = biases;
    layer.self_attention.query_key_norm = {layer.norm, QueryKeyNorm::Of::projections};
  }
  return model;
}

ModelSpec olmo2_spec(const Fields& config, std::string_view architecture) {
  return olmo_model(config, architecture, olmo_relative);
}

ModelSpec olmoe_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = olmo_model(config, architecture, olmoe_relative);
  const double clip = config.number({"clip_qkv"}, 0, 1e-30);
  for (LayerSpec& layer : model.decoder->layers) layer.self_attention.clip = clip;
  ExpertsSpec experts = read_experts(config, 64, 8);
  experts.weights_sum_to_one = config.flag({"norm_topk_prob"}, false);
  put_experts(model, experts, model.decoder->layers.front().feed_forward.width);
  put_router_loss(model, config, 0.01);
  return model;
}

ModelSpec olmo3_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = olmo2_spec(config, architecture);
  StackSpec& stack = *model.decoder;
  const std::vector<bool> sliding =
      read_sliding_layers(config, stack.layers.size(), [](std::size_t i) { return (i + 1) % 4 != 0; });
  const std::int64_t window = config.integer({"sliding_window"}, 4096);
  stack.rotaries.push_back(
      read_sliding_rotary(config, {.head_size = stack.layers.front().self_attention.head_size,
                                   .base = rotary_base(config, olmo_relative.rotary_base)}));
  for (std::size_t i = 0; i < stack.layers.size(); ++i)
    if (sliding[i]) {
      stack.layers[i].self_attention.window = window;
      stack.layers[i].self_attention.rotary = 1;
    }
  return model;
}

std::vector<WeightName> olmo_weights(const ModelSpec& model) {
  return llama_weights(model);
}

Json with_tokens(Json config) {
  config.update({{"pad_token_id", 1}, {"bos_token_id", nullptr}, {"eos_token_id", 50279}});
  return config;
}

Json fresh_olmo(std::string_view model_type, std::string_view architecture, std::string_view preset) {
  static constexpr LlamaSize sizes[] = {
      {"1B", 2048, 8192, 16, 16, 16}, {"7B", 4096, 11008, 32, 32, 32}, {"tiny", 256, 688, 4, 4, 4}};
  return with_tokens(fresh_llama_config(model_type, architecture, find_size(sizes, preset), olmo_relative));
}

Json fresh_olmoe(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"1B-7B", 2048, 1024, 16, 16, 16}, {"tiny", 256, 128, 4, 4, 4}};
  Json config =
      with_tokens(fresh_llama_config("olmoe", "OlmoeForCausalLM", find_size(sizes, preset), olmoe_relative));
  config.update({{"num_experts", preset == "tiny" ? 8 : 64},
                 {"num_experts_per_tok", preset == "tiny" ? 2 : 8},
                 {"output_router_logits", true}});
  return config;
}

Json fresh_olmo2(std::string_view preset) {
  return fresh_olmo("olmo2", "Olmo2ForCausalLM", preset);
}

Json fresh_olmo3(std::string_view preset) {
  Json config = fresh_olmo("olmo3", "Olmo3ForCausalLM", preset);
  config["sliding_window"] = 4096;
  return config;
}

}  // namespace

extern const Family olmo2, olmo3, olmoe;
const Family olmo2 = {
    .model_type = "olmo2",
    .prefix = "model",
    .architectures = {"Olmo2ForCausalLM", "Olmo2Model"},
    .spec = olmo2_spec,
    .weights = olmo_weights,
    .optional_fields = llama_optional_fields({"attention_bias"}),
    .presets = {"1B", "7B", "tiny"},
    .fresh_config = fresh_olmo2,
};

const Family olmo3 = {
    .model_type = "olmo3",
    .prefix = "model",
    .architectures = {"Olmo3ForCausalLM", "Olmo3Model"},
    .spec = olmo3_spec,
    .weights = olmo_weights,
    .optional_fields = llama_optional_fields({"attention_bias", "layer_types"}),
    .presets = {"1B", "7B", "tiny"},
    .fresh_config = fresh_olmo3,
};

const Family olmoe = {
    .model_type = "olmoe",
    .prefix = "model",
    .architectures = {"OlmoeForCausalLM", "OlmoeModel"},
    .spec = olmoe_spec,
    .weights = olmo_weights,
    .optional_fields = expert_optional_fields({"attention_bias", "clip_qkv", "norm_topk_prob"}),
    .presets = {"1B-7B", "tiny"},
    .fresh_config = fresh_olmoe,
};

}  // namespace attend
