// Mixtral: Jiang et al. 2024, arXiv:2401.04088: Mistral with experts. Checkpoints: mistralai/Mixtral-8x*.
#include "models/families/expert_fields.h"
#include "models/families/llama_decoder.h"

namespace attend {
namespace {

constexpr LlamaRelative mixtral_relative = {.inner = 14336,
                                            .key_heads = 8,
                                            .positions = 131072,
                                            .norm = {.epsilon = 1e-5, .root_mean_square = true},
                                            .rotary_base = 1e6};

ModelSpec mixtral_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = llama_model(config, architecture, mixtral_relative);
  ExpertsSpec experts = read_experts(config, 8, 2);
  experts.jitter = config.number({"router_jitter_noise"}, 0, 0, 0.999);
  put_experts(model, experts, model.decoder->layers.front().feed_forward.width);
  put_router_loss(model, config, 0.001);
  const std::int64_t window = config.integer({"sliding_window"}, 0);
  for (LayerSpec& layer : model.decoder->layers) layer.self_attention.window = window;
  return model;
}

std::vector<WeightName> mixtral_weights(const ModelSpec& model) {
  return renamed(llama_weights(model), {{"mlp.gate.", "block_sparse_moe.gate."},
                                        {"mlp.experts.", "block_sparse_moe.experts."},
                                        {"{gate_proj|up_proj}", "{w1|w3}"},
                                        {"down_proj", "w2"}});
}

Json fresh_mixtral(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"8x7B", 4096, 14336, 32, 32, 8}, {"tiny", 256, 128, 4, 4, 2}};
  Json config =
      fresh_llama_config("mixtral", "MixtralForCausalLM", find_size(sizes, preset), mixtral_relative);
  config.update({{"num_local_experts", 8}, {"num_experts_per_tok", 2}, {"output_router_logits", true}});
  return config;
}

}  // namespace

extern const Family mixtral;
const Family mixtral = {
    .model_type = "mixtral",
    .prefix = "model",
    .architectures = {"MixtralForCausalLM", "MixtralModel", "MixtralForSequenceClassification",
                      "MixtralForTokenClassification", "MixtralForQuestionAnswering"},
    .spec = mixtral_spec,
    .weights = mixtral_weights,
    .ignored = {"model.layers.{i}.self_attn.rotary_emb.inv_freq"},
    .optional_fields = expert_optional_fields({"sliding_window", "router_jitter_noise"}),
    .presets = {"8x7B", "tiny"},
    .fresh_config = fresh_mixtral,
};

}  // namespace attend
