// StableLM: https://huggingface.co/stabilityai/stablelm-2-1_6b: Llama with layer normalization, and rotary
// positions for a quarter of each head. Checkpoints: stabilityai/stablelm-3b-4e1t, stabilityai/stablelm-2-*.
// StarCoder 2: Lozhkov et al. 2024, arXiv:2402.19173: with GPT-2's feed-forward layers. Checkpoints:
// bigcode/starcoder2-*.
#include "models/families/llama_decoder.h"

namespace attend {
namespace {

constexpr LlamaRelative stablelm_relative = {.vocabulary = 50304,
                                             .width = 2560,
                                             .inner = 6912,
                                             .key_heads = 32,
                                             .positions = 4096,
                                             .norm = {.epsilon = 1e-5},
                                             .rotary_part = 0.25};
constexpr LlamaRelative starcoder2_relative = {.vocabulary = 49152,
                                               .width = 3072,
                                               .inner = 12288,
                                               .layers = 30,
                                               .heads = 24,
                                               .key_heads = 2,
                                               .positions = 4096,
                                               .norm = {.epsilon = 1e-5},
                                               .activation = "gelu_pytorch_tanh",
                                               .gated = false,
                                               .tied = true};

ModelSpec stablelm_spec(const Fields& config, std::string_view architecture) {
  LlamaRelative relative = stablelm_relative;
  if (config.flag({"use_parallel_residual"}, false)) relative.order = NormOrder::parallel;
  ModelSpec model = llama_model(config, architecture, relative);
  const bool biases = config.flag({"use_qkv_bias"}, false), normed = config.flag({"qk_layernorm"}, false);
  for (LayerSpec& layer : model.decoder->layers) {
    layer.self_attention.input_bias = biases;
    layer.feed_forward_result_dropout = read_dropout(config, {"hidden_dropout"}, 0);
    NormSpec norm = layer.norm;
    norm.bias = false;
    if (normed) layer.self_attention.query_key_norm = {norm, QueryKeyNorm::Of::own_heads};
  }
  return model;
}

// "{0|1|2}" for three.
std::string numbered(std::int64_t count) {
  std::string all = "{0";
  for (std::int64_t i = 1; i < count; ++i) all += "|" + std::to_string(i);
  return all + "}";
}

std::vector<WeightName> stablelm_weights(const ModelSpec& model) {
  std::vector<WeightName> table = llama_weights(model);
  const AttentionSpec& attention = model.decoder->layers.front().self_attention;
  const std::string theirs = "model.layers.{i}.self_attn.", ours = "decoder.layers.{i}.self_attention.";
  table.push_back(
      {theirs + "q_layernorm.norms." + numbered(attention.heads) + ".weight", ours + "query_norm.weight"});
  table.push_back({theirs + "k_layernorm.norms." + numbered(attention.heads_of_keys()) + ".weight",
                   ours + "key_norm.weight"});
  return table;
}

ModelSpec starcoder2_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = llama_model(config, architecture, starcoder2_relative);
  const bool biases = config.flag({"use_bias"}, true);
  const double dropout = read_dropout(config, {"residual_dropout"}, 0);
  const std::int64_t window = config.integer({"sliding_window"}, 0);
  for (LayerSpec& layer : model.decoder->layers) {
    layer.self_attention.input_bias = layer.self_attention.output_bias = layer.feed_forward.bias = biases;
    layer.self_attention.window = window;
    layer.attention_result_dropout = layer.feed_forward_result_dropout = dropout;
  }
  model.decoder->embeddings.dropout = read_dropout(config, {"embedding_dropout"}, 0);
  return model;
}

std::vector<WeightName> starcoder2_weights(const ModelSpec& model) {
  return renamed(llama_weights(model), {{"{gate_proj|up_proj}", "c_fc"}, {"down_proj", "c_proj"}});
}

Json fresh_stablelm(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {
      {"3B", 2560, 6912, 32, 32, 32}, {"1.6B", 2048, 5632, 24, 32, 32}, {"tiny", 256, 688, 4, 4, 4}};
  Json config =
      fresh_llama_config("stablelm", "StableLmForCausalLM", find_size(sizes, preset), stablelm_relative);
  config.update({{"partial_rotary_factor", 0.25},
                 {"use_qkv_bias", preset == "1.6B"},
                 {"bos_token_id", 0},
                 {"eos_token_id", 0}});
  return config;
}

Json fresh_starcoder2(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"3B", 3072, 12288, 30, 24, 2}, {"tiny", 256, 1024, 4, 4, 2}};
  Json config = fresh_llama_config("starcoder2", "Starcoder2ForCausalLM", find_size(sizes, preset),
                                   starcoder2_relative);
  config.erase("layer_norm_eps");
  config.update(
      {{"norm_epsilon", 1e-5}, {"use_bias", true}, {"bos_token_id", 50256}, {"eos_token_id", 50256}});
  return config;
}

}  // namespace

extern const Family stablelm, starcoder2;
const Family stablelm = {
    .model_type = "stablelm",
    .prefix = "model",
    .architectures = {"StableLmForCausalLM", "StableLmModel", "StableLmForSequenceClassification",
                      "StableLmForTokenClassification"},
    .spec = stablelm_spec,
    .weights = stablelm_weights,
    .ignored = {"model.layers.{i}.self_attn.rotary_emb.inv_freq"},
    .optional_fields = llama_optional_fields({"qk_layernorm", "use_parallel_residual", "hidden_dropout"}),
    .presets = {"3B", "1.6B", "tiny"},
    .fresh_config = fresh_stablelm,
};

const Family starcoder2 = {
    .model_type = "starcoder2",
    .prefix = "model",
    .architectures = {"Starcoder2ForCausalLM", "Starcoder2Model", "Starcoder2ForSequenceClassification",
                      "Starcoder2ForTokenClassification"},
    .spec = starcoder2_spec,
    .weights = starcoder2_weights,
    .optional_fields = llama_optional_fields({"sliding_window", "residual_dropout", "embedding_dropout"}),
    .presets = {"3B", "tiny"},
    .fresh_config = fresh_starcoder2,
};

}  // namespace attend
