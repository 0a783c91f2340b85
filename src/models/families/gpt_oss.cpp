// gpt-oss: OpenAI 2025, arXiv:2508.10925: Llama with experts whose gates are limited, biases everywhere,
// sinks, and windows in every second layer. Checkpoints: openai/gpt-oss-20b, openai/gpt-oss-120b, in MXFP4
// (sources/prequantized/mxfp4) or floating point.
#include "models/families/expert_fields.h"
#include "models/families/llama_decoder.h"

namespace attend {
namespace {

constexpr LlamaRelative gpt_oss_relative = {.vocabulary = 201088,
                                            .width = 2880,
                                            .inner = 2880,
                                            .layers = 36,
                                            .heads = 64,
                                            .key_heads = 8,
                                            .head_size = 64,
                                            .positions = 131072,
                                            .norm = {.epsilon = 1e-5, .root_mean_square = true},
                                            .rotary_base = 150000};

// The original's default.
Json usual_scaling() {
  return {{"rope_type", "yarn"}, {"factor", 32.0},    {"beta_fast", 32.0},
          {"beta_slow", 1.0},    {"truncate", false}, {"original_max_position_embeddings", 4096}};
}

Fields with_usual_scaling(const Fields& config) {
  Json fields = config.json();
  if (!fields.contains("rope_scaling") && !fields.contains("rope_parameters"))
    fields["rope_scaling"] = usual_scaling();
  return {fields, config.source()};
}

ModelSpec gpt_oss_spec(const Fields& given, std::string_view architecture) {
  const Fields config = with_usual_scaling(given);
  ModelSpec model = llama_model(config, architecture, gpt_oss_relative);
  std::vector<LayerSpec>& layers = model.decoder->layers;
  const std::vector<bool> sliding =
      read_sliding_layers(config, layers.size(), [](std::size_t i) { return i % 2 == 0; });
  const std::int64_t window = config.integer({"sliding_window"}, 128);
  const bool biases = config.flag({"attention_bias"}, true);
  ExpertsSpec experts = read_experts(config, 128, 4);
  experts.router_bias = experts.balances_weights = true;
  put_experts(model, experts, layers.front().feed_forward.width);
  put_router_loss(model, config, 0.9);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    AttentionSpec& attention = layers[i].self_attention;
    attention.input_bias = attention.output_bias = biases;
    attention.sinks = true;
    if (sliding[i]) attention.window = window;
    FeedForwardSpec& each = layers[i].feed_forward;
    each.activation = Activation::quick_gelu;  // hidden_act is ignored
    each.bias = true;
    each.limit = 7;
    each.shift = 1;
  }
  return model;
}

std::vector<WeightName> gpt_oss_weights(const ModelSpec& model) {
  const LayerSpec& layer = model.decoder->layers.front();
  const std::int64_t experts = layer.experts->count, inner = layer.feed_forward.width,
                     width = model.decoder->width();
  const std::string theirs = "model.layers.{i}.mlp.", ours = "decoder.layers.{i}.experts.";
  std::vector<WeightName> table = {
      {theirs + "router.{weight|bias}", ours + "router.{weight|bias}"},
      {.checkpoint = theirs + "experts.gate_up_proj",
       .ours = ours + "in.weight",
       .layout = WeightLayout::paired_experts,
       .shape = {experts, width, 2 * inner}},
      {.checkpoint = theirs + "experts.gate_up_proj_bias",
       .ours = ours + "in.bias",
       .layout = WeightLayout::paired_experts,
       .shape = {experts, 2 * inner}},
      {.checkpoint = theirs + "experts.down_proj",
       .ours = ours + "out.weight",
       .layout = WeightLayout::experts,
       .shape = {experts, inner, width}},
      {.checkpoint = theirs + "experts.down_proj_bias",
       .ours = ours + "out.bias",
       .layout = WeightLayout::experts,
       .shape = {experts, width}},
  };
  for (WeightName& row : llama_weights(model)) table.push_back(std::move(row));
  return table;
}

Json fresh_gpt_oss(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {
      {"20b", 2880, 2880, 24, 64, 8}, {"120b", 2880, 2880, 36, 64, 8}, {"tiny", 256, 128, 4, 4, 2}};
  const bool tiny = preset == "tiny";
  Json config =
      fresh_llama_config("gpt_oss", "GptOssForCausalLM", find_size(sizes, preset), gpt_oss_relative);
  config.update({{"head_dim", 64},
                 {"sliding_window", 128},
                 {"rope_scaling", usual_scaling()},
                 {"num_local_experts", tiny              ? 8
                                       : preset == "20b" ? 32
                                                         : 128},
                 {"num_experts_per_tok", tiny ? 2 : 4},
                 {"bos_token_id", 199998},
                 {"eos_token_id", 200002},
                 {"pad_token_id", 199999}});
  return config;
}

}  // namespace

extern const Family gpt_oss;
const Family gpt_oss = {
    .model_type = "gpt_oss",
    .prefix = "model",
    .architectures = {"GptOssForCausalLM", "GptOssModel", "GptOssForSequenceClassification",
                      "GptOssForTokenClassification"},
    .spec = gpt_oss_spec,
    .weights = gpt_oss_weights,
    .optional_fields = expert_optional_fields({"attention_bias", "layer_types", "swiglu_limit"}),
    .presets = {"20b", "120b", "tiny"},
    .fresh_config = fresh_gpt_oss,
};

}  // namespace attend
