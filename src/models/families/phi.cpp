// Phi-1.5 and 2: Li et al. 2023, arXiv:2309.05463: attention and feed-forward in parallel, rotary positions
// for a part of each head. Checkpoints: microsoft/phi-1*, microsoft/phi-2. Phi-3: Abdin et al. 2024,
// arXiv:2404.14219: Llama with LongRoPE for longer texts. Checkpoints: microsoft/Phi-3-mini-*,
// microsoft/Phi-3.5-mini-instruct, microsoft/Phi-4-mini-instruct.
#include "models/families/llama_decoder.h"

namespace attend {
namespace {

constexpr LlamaRelative phi_relative = {.vocabulary = 51200,
                                        .width = 2048,
                                        .inner = 8192,
                                        .layers = 24,
                                        .norm = {.epsilon = 1e-5},
                                        .order = NormOrder::parallel,
                                        .activation = "gelu_new",
                                        .gated = false,
                                        .rotary_part = 0.5};
constexpr LlamaRelative phi3_relative = {.vocabulary = 32064,
                                         .width = 3072,
                                         .inner = 8192,
                                         .positions = 4096,
                                         .padding_id = 32000,
                                         .norm = {.epsilon = 1e-5, .root_mean_square = true}};

ModelSpec phi_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = llama_model(config, architecture, phi_relative);
  const double dropout = read_dropout(config, {"resid_pdrop"}, 0);
  const bool normed = config.flag({"qk_layernorm"}, false);
  for (LayerSpec& layer : model.decoder->layers) {
    layer.self_attention.input_bias = layer.self_attention.output_bias = layer.feed_forward.bias = true;
    layer.attention_result_dropout = layer.feed_forward_result_dropout = dropout;
    if (normed) layer.self_attention.query_key_norm = {layer.norm, QueryKeyNorm::Of::heads};
  }
  model.decoder->embeddings.dropout = read_dropout(config, {"embd_pdrop"}, 0);
  if (model.language_model_head) model.language_model_head->bias = true;
  return model;
}

std::vector<WeightName> phi_weights(const ModelSpec& model) {
  return renamed(llama_weights(model), {{"o_proj", "dense"},
                                        {"{gate_proj|up_proj}", "fc1"},
                                        {"down_proj", "fc2"},
                                        {"q_norm", "q_layernorm"},
                                        {"k_norm", "k_layernorm"},
                                        {"model.norm.", "model.final_layernorm."}});
}

// Older configs have other names for LongRoPE, and do not give the original text length.
Fields with_longrope(const Fields& config) {
  Json fields = config.json();
  if (!fields.contains("original_max_position_embeddings")) fields["original_max_position_embeddings"] = 4096;
  if (Json& scaling = fields["rope_scaling"]; scaling.is_object())
    if (const Json kind = scaling.value("type", Json()); kind == "su" || kind == "yarn")
      scaling["type"] = "longrope";
  return {fields, config.source()};
}

ModelSpec phi3_spec(const Fields& given, std::string_view architecture) {
  const Fields config = with_longrope(given);
  ModelSpec model = llama_model(config, architecture, phi3_relative);
  const double dropout = read_dropout(config, {"resid_pdrop"}, 0);
  const std::int64_t window = config.integer({"sliding_window"}, 0);
  for (LayerSpec& layer : model.decoder->layers) {
    layer.attention_result_dropout = layer.feed_forward_result_dropout = dropout;
    layer.self_attention.window = window;
  }
  return model;
}

std::vector<WeightName> phi3_weights(const ModelSpec& model) {
  return renamed(llama_weights(model),
                 {{"{q_proj|k_proj|v_proj}", "qkv_proj"}, {"{gate_proj|up_proj}", "gate_up_proj"}});
}

Json fresh_phi(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {
      {"1.3B", 2048, 8192, 24, 32, 32}, {"2.7B", 2560, 10240, 32, 32, 32}, {"tiny", 256, 1024, 4, 4, 4}};
  Json config = fresh_llama_config("phi", "PhiForCausalLM", find_size(sizes, preset), phi_relative);
  config["partial_rotary_factor"] = preset == "2.7B" ? 0.4 : 0.5;
  return config;
}

Json fresh_phi3(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"mini", 3072, 8192, 32, 32, 32}, {"tiny", 256, 688, 4, 4, 4}};
  Json config = fresh_llama_config("phi3", "Phi3ForCausalLM", find_size(sizes, preset), phi3_relative);
  config.update(
      {{"original_max_position_embeddings", 4096}, {"pad_token_id", 32000}, {"eos_token_id", 32000}});
  return config;
}

}  // namespace

extern const Family phi, phi3;
const Family phi = {
    .model_type = "phi",
    .prefix = "model",
    .architectures = {"PhiForCausalLM", "PhiModel", "PhiForSequenceClassification",
                      "PhiForTokenClassification"},
    .spec = phi_spec,
    .weights = phi_weights,
    .optional_fields = llama_optional_fields({"qk_layernorm", "resid_pdrop", "embd_pdrop"}),
    .presets = {"1.3B", "2.7B", "tiny"},
    .fresh_config = fresh_phi,
};

const Family phi3 = {
    .model_type = "phi3",
    .prefix = "model",
    .architectures = {"Phi3ForCausalLM", "Phi3Model", "Phi3ForSequenceClassification",
                      "Phi3ForTokenClassification"},
    .spec = phi3_spec,
    .weights = phi3_weights,
    .optional_fields = llama_optional_fields({"partial_rotary_factor", "sliding_window", "resid_pdrop"}),
    .presets = {"mini", "tiny"},
    .fresh_config = fresh_phi3,
};

}  // namespace attend
