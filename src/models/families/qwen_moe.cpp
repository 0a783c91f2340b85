// Qwen with experts in some or all layers. Qwen2 MoE: Yang et al. 2024, arXiv:2407.10671, with one more
// expert for every token. Checkpoints: Qwen/Qwen1.5-MoE-A2.7B*, Qwen/Qwen2-57B-A14B*. Qwen3 MoE: Yang et al.
// 2025, arXiv:2505.09388. Checkpoints: Qwen/Qwen3-30B-A3B*, Qwen/Qwen3-235B-A22B*.
#include "models/families/expert_fields.h"
#include "models/families/llama_decoder.h"

#include <algorithm>

namespace attend {
namespace {

constexpr LlamaRelative qwen2_moe_relative = {.vocabulary = 151936,
                                              .width = 2048,
                                              .inner = 5632,
                                              .layers = 24,
                                              .heads = 16,
                                              .key_heads = 16,
                                              .positions = 32768};
constexpr LlamaRelative qwen3_moe_relative = {.vocabulary = 151936,
                                              .width = 2048,
                                              .inner = 6144,
                                              .layers = 24,
                                              .heads = 32,
                                              .key_heads = 4,
                                              .positions = 32768};

// Every decoder_sparse_step-th layer has experts, unless it is in mlp_only_layers.
void put_qwen_experts(ModelSpec& model, const Fields& config, const ExpertsSpec& experts,
                      std::int64_t width) {
  std::vector<LayerSpec>& layers = model.decoder->layers;
  const std::int64_t step = config.integer({"decoder_sparse_step"}, 1);
  const std::vector<std::int64_t> plain = config.integers({"mlp_only_layers"});
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    if ((number + 1) % step != 0 || std::ranges::find(plain, number) != plain.end()) continue;
    layers[i].experts = experts;
    layers[i].feed_forward.width = width;
  }
  put_router_loss(model, config, 0.001);
}

// In transformers all layers have the same window; max_window_layers is ignored.
void read_window(ModelSpec& model, const Fields& config) {
  if (!config.flag({"use_sliding_window"}, false)) return;
  const bool named = config.json().contains("sliding_window");  // null means no window
  const std::int64_t window = config.integer({"sliding_window"}, named ? 0 : 4096);
  for (LayerSpec& layer : model.decoder->layers) layer.self_attention.window = window;
}

ExpertsSpec read_qwen_experts(const Fields& config, std::int64_t count, std::int64_t chosen) {
  ExpertsSpec experts = read_experts(config, count, chosen);
  experts.weights_sum_to_one = config.flag({"norm_topk_prob"}, false);
  return experts;
}

ModelSpec qwen2_moe_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = llama_model(config, architecture, qwen2_moe_relative);
  const bool biases = config.flag({"qkv_bias"}, true);
  for (LayerSpec& layer : model.decoder->layers) layer.self_attention.input_bias = biases;
  read_window(model, config);
  ExpertsSpec experts = read_qwen_experts(config, 60, 4);
  experts.shared = model.decoder->layers.front().feed_forward;
  experts.shared->width = config.integer({"shared_expert_intermediate_size"}, 5632);
  put_qwen_experts(model, config, experts, config.integer({"moe_intermediate_size"}, 1408));
  return model;
}

ModelSpec qwen3_moe_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = llama_model(config, architecture, qwen3_moe_relative);
  const bool biases = config.flag({"attention_bias"}, false);
  for (LayerSpec& layer : model.decoder->layers) {
    layer.self_attention.input_bias = layer.self_attention.output_bias = biases;
    layer.self_attention.query_key_norm = {layer.norm, QueryKeyNorm::Of::heads};
  }
  read_window(model, config);
  put_qwen_experts(model, config, read_qwen_experts(config, 128, 8),
                   config.integer({"moe_intermediate_size"}, 768));
  return model;
}

std::vector<WeightName> qwen2_moe_weights(const ModelSpec& model) {
  return llama_weights(model);
}

std::vector<WeightName> qwen3_moe_weights(const ModelSpec& model) {
  return llama_weights(model, "transformer.");
}

Json fresh_qwen2_moe(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"A2.7B", 2048, 5632, 24, 16, 16}, {"tiny", 256, 688, 4, 4, 4}};
  const bool tiny = preset == "tiny";
  Json config =
      fresh_llama_config("qwen2_moe", "Qwen2MoeForCausalLM", find_size(sizes, preset), qwen2_moe_relative);
  config.update({{"bos_token_id", 151643},
                 {"eos_token_id", 151643},
                 {"num_experts", tiny ? 8 : 60},
                 {"num_experts_per_tok", tiny ? 2 : 4},
                 {"moe_intermediate_size", tiny ? 128 : 1408},
                 {"shared_expert_intermediate_size", tiny ? 192 : 5632},
                 {"output_router_logits", true}});
  return config;
}

Json fresh_qwen3_moe(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"30B-A3B", 2048, 6144, 48, 32, 4}, {"tiny", 256, 688, 4, 4, 2}};
  const bool tiny = preset == "tiny";
  LlamaRelative relative = qwen3_moe_relative;
  relative.rotary_base = 1e6;
  Json config = fresh_llama_config("qwen3_moe", "Qwen3MoeForCausalLM", find_size(sizes, preset), relative);
  config.update({{"head_dim", tiny ? 64 : 128},
                 {"bos_token_id", 151643},
                 {"eos_token_id", 151643},
                 {"num_experts", tiny ? 8 : 128},
                 {"num_experts_per_tok", tiny ? 2 : 8},
                 {"moe_intermediate_size", tiny ? 128 : 768},
                 {"norm_topk_prob", true},
                 {"output_router_logits", true}});
  return config;
}

}  // namespace

extern const Family qwen2_moe, qwen3_moe;
const Family qwen2_moe = {
    .model_type = "qwen2_moe",
    .prefix = "model",
    .architectures = {"Qwen2MoeForCausalLM", "Qwen2MoeModel", "Qwen2MoeForSequenceClassification",
                      "Qwen2MoeForTokenClassification", "Qwen2MoeForQuestionAnswering"},
    .spec = qwen2_moe_spec,
    .weights = qwen2_moe_weights,
    .ignored = {"model.layers.{i}.self_attn.rotary_emb.inv_freq"},
    .optional_fields =
        expert_optional_fields({"use_sliding_window", "sliding_window", "max_window_layers", "norm_topk_prob",
                                "decoder_sparse_step", "mlp_only_layers", "qkv_bias"}),
    .presets = {"A2.7B", "tiny"},
    .fresh_config = fresh_qwen2_moe,
};

const Family qwen3_moe = {
    .model_type = "qwen3_moe",
    .prefix = "model",
    .architectures = {"Qwen3MoeForCausalLM", "Qwen3MoeModel", "Qwen3MoeForSequenceClassification",
                      "Qwen3MoeForTokenClassification", "Qwen3MoeForQuestionAnswering"},
    .spec = qwen3_moe_spec,
    .weights = qwen3_moe_weights,
    .optional_fields = expert_optional_fields(
        {"use_sliding_window", "sliding_window", "attention_bias", "decoder_sparse_step", "mlp_only_layers"}),
    .presets = {"30B-A3B", "tiny"},
    .fresh_config = fresh_qwen3_moe,
};

}  // namespace attend
