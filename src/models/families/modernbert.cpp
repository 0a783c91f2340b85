// ModernBERT: Warner et al. 2024, arXiv:2412.13663: an encoder with rotary positions and a window in two of
// three layers; norms without biases before each sublayer, gated feed-forward layers. Checkpoints:
// answerdotai/ModernBERT-*, Alibaba-NLP/gte-modernbert-base, nomic-ai/modernbert-embed-base.
#include "base/error.h"
#include "models/families/family.h"
#include "models/families/rotary_fields.h"
#include "models/families/sliding_layers.h"

#include <limits>

namespace attend {
namespace {

constexpr std::int64_t kPositions = 8192;

// The rotary base of a kind of layer: from global_rope_theta or local_rope_theta, or from transformers 5's
// fields.
RotarySpec read_turn(const Fields& config, std::int64_t head_size, double base, std::string_view layers) {
  Json fields = config.json();
  fields["rope_theta"] = base;
  return read_rotary(Fields(fields, config.source()),
                     {.head_size = head_size,
                      .positions = config.integer({"max_position_embeddings"}, kPositions),
                      .base = base},
                     layers);
}

LayerSpec read_layer(const Fields& config, std::int64_t width, const NormSpec& norm) {
  AttentionSpec attention = read_attention(config, {"num_attention_heads"}, 12, width);
  attention.rotary = 0;
  attention.dropout = read_dropout(config, {"attention_dropout"}, 0);
  attention.input_bias = attention.output_bias = config.flag({"attention_bias"}, false);
  return {.order = NormOrder::pre,
          .norm = norm,
          .self_attention = attention,
          .cross_attention = {},
          .feed_forward = {.width = config.integer({"intermediate_size"}, 1152),
                           .activation = read_activation(config, {"hidden_activation"}, "gelu"),
                           .gated = true,
                           .bias = config.flag({"mlp_bias"}, false),
                           .dropout = read_dropout(config, {"mlp_dropout"}, 0)},
          .attention_result_dropout = attention.dropout};
}

StackSpec read_encoder(const Fields& config) {
  const std::int64_t width = config.integer({"hidden_size"}, 768),
                     vocabulary = config.integer({"vocab_size"}, 50368);
  const NormSpec norm{.epsilon = config.number({"norm_eps"}, 1e-5, 0, 1),
                      .bias = config.flag({"norm_bias"}, false)};
  const std::int64_t padding = config.json().contains("pad_token_id")
                                   ? config.maybe_integer({"pad_token_id"}, -1, vocabulary - 1).value_or(-1)
                                   : config.integer({"pad_token_id"}, 50283);
  const LayerSpec layer = read_layer(config, width, norm);
  StackSpec stack = {
      .embeddings = {.vocabulary = vocabulary,
                     .width = width,
                     .positions = RotaryPositions{config.integer({"max_position_embeddings"}, kPositions)},
                     .padding_id = padding,
                     .norm = norm,
                     .dropout = read_dropout(config, {"embedding_dropout"}, 0)},
      .layers = std::vector<LayerSpec>(config.integer({"num_hidden_layers"}, 22, 1, 10000), layer),
      .final_norm = norm,
      .weights_of = {},
  };
  const double global = config.number({"global_rope_theta", "rope_theta"}, 160000, 1e-3, 1e30);
  const bool one_base = config.json().contains("local_rope_theta") && !config.has({"local_rope_theta"});
  const double local = config.number({"local_rope_theta"}, one_base ? global : 10000, 1e-3, 1e30);
  const std::int64_t head_size = layer.self_attention.head_size;
  stack.rotaries = {read_turn(config, head_size, global, "full_attention"),
                    read_turn(config, head_size, local, "sliding_attention")};
  if (stack.rotaries.front().growing)
    stack.embeddings.positions = RotaryPositions{std::numeric_limits<std::int64_t>::max()};
  const auto every = static_cast<std::size_t>(config.integer({"global_attn_every_n_layers"}, 3));
  const std::vector<bool> sliding =
      read_sliding_layers(config, stack.layers.size(), [&](std::size_t i) { return i % every != 0; });
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    if (!sliding[i]) continue;
    stack.layers[i].self_attention.window = config.integer({"local_attention"}, 128, 0) / 2 + 1;
    stack.layers[i].self_attention.rotary = 1;
  }
  stack.layers.front().normed_input = false;
  stack.quirks.norm_in_states = false;
  return stack;
}

HeadInput read_pooling(const Fields& config, bool choice) {
  const std::string pooling = config.text({"classifier_pooling"}, "cls");
  if (pooling == "mean") return HeadInput::text_mean;
  if (pooling != "cls")
    fail("{}: classifier_pooling: expected cls or mean, found \"{}\"", config.source(), pooling);
  return choice ? HeadInput::text_begin : HeadInput::first_token;
}

ModelSpec modernbert_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  model.encoder = read_encoder(config);
  model.initialization = {.range = config.number({"initializer_range"}, 0.02, 0, 10), .narrow_results = true};
  const NormSpec norm = *model.encoder->final_norm;
  const Activation activation = read_activation(config, {"classifier_activation"}, "gelu");
  const bool bias = config.flag({"classifier_bias"}, false);
  if (architecture.ends_with("ForMaskedLM")) {
    if (config.flag({"sparse_prediction"}, false))
      fail("{}: sparse_prediction: only false is supported", config.source());
    model.language_model_head = LanguageModelHeadSpec{
        .transform = LanguageModelHeadSpec::Transform{.activation = activation, .norm = norm, .bias = bias},
        .bias = config.flag({"decoder_bias"}, true),
        .untied = !config.flag({"tie_word_embeddings"}, true)};
  }
  model.score_head =
      read_score_head(config, architecture,
                      {.input = read_pooling(config, architecture.ends_with("ForMultipleChoice")),
                       .dense = {},
                       .problem = {}});
  if (ScoreHeadSpec* head = model.score_head ? &*model.score_head : nullptr) {
    head->dense = activation;
    head->dense_bias = bias;
    head->dense_norm = norm;
    head->dropout = read_dropout(config, {"classifier_dropout"}, 0);
  }
  return model;
}

std::vector<WeightName> modernbert_weights(const ModelSpec& model) {
  const std::string theirs = "model.layers.{i}.", ours = "encoder.layers.{i}.";
  const std::string head = model.score_head ? "score_head." : "language_model_head.",
                    norm = model.score_head ? "dense_norm." : "norm.";
  return {
      // checkpoint, ours
      {"model.embeddings.tok_embeddings.weight", "encoder.embeddings.tokens"},
      {"model.embeddings.norm.{weight|bias}", "encoder.embeddings.norm.{weight|bias}"},
      {theirs + "attn_norm.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {theirs + "attn.Wqkv.{weight|bias}", ours + "self_attention.query_key_value.{weight|bias}"},
      {theirs + "attn.Wo.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {theirs + "mlp_norm.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {theirs + "mlp.Wi.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {theirs + "mlp.Wo.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {"model.final_norm.{weight|bias}", "encoder.final_norm.{weight|bias}"},
      {"head.dense.{weight|bias}", head + "dense.{weight|bias}"},
      {"head.norm.{weight|bias}", head + norm + "{weight|bias}"},
      {"decoder.{weight|bias}", "language_model_head.{weight|bias}"},
      {"classifier.{weight|bias}", "score_head.out.{weight|bias}"},
  };
}

Json fresh_modernbert(std::string_view preset) {
  const auto [width, inner, layers, heads] = preset == "base"    ? std::tuple(768, 1152, 22, 12)
                                             : preset == "large" ? std::tuple(1024, 2624, 28, 16)
                                                                 : std::tuple(256, 384, 4, 4);
  return {{"model_type", "modernbert"},
          {"architectures", {"ModernBertForMaskedLM"}},
          {"vocab_size", 50368},
          {"hidden_size", width},
          {"intermediate_size", inner},
          {"num_hidden_layers", layers},
          {"num_attention_heads", heads},
          {"hidden_activation", "gelu"},
          {"max_position_embeddings", kPositions},
          {"initializer_range", 0.02},
          {"norm_eps", 1e-5},
          {"norm_bias", false},
          {"global_rope_theta", 160000.0},
          {"local_rope_theta", 10000.0},
          {"global_attn_every_n_layers", 3},
          {"local_attention", 128},
          {"attention_bias", false},
          {"mlp_bias", false},
          {"decoder_bias", true},
          {"classifier_pooling", "cls"},
          {"classifier_bias", false},
          {"classifier_activation", "gelu"},
          {"attention_dropout", 0.0},
          {"embedding_dropout", 0.0},
          {"mlp_dropout", 0.0},
          {"classifier_dropout", 0.0},
          {"pad_token_id", 50283},
          {"bos_token_id", 50281},
          {"cls_token_id", 50281},
          {"eos_token_id", 50282},
          {"sep_token_id", 50282}};
}

}  // namespace

extern const Family modernbert;
const Family modernbert = {
    .model_type = "modernbert",
    .prefix = "model",
    .architectures = {"ModernBertModel", "ModernBertForMaskedLM", "ModernBertForSequenceClassification",
                      "ModernBertForTokenClassification", "ModernBertForQuestionAnswering",
                      "ModernBertForMultipleChoice"},
    .spec = modernbert_spec,
    .weights = modernbert_weights,
    .ignored = {"head.{dense|norm}.{weight|bias}", "decoder.{weight|bias}", "classifier.{weight|bias}"},
    .optional_fields = {"rope_scaling", "rope_parameters", "layer_types", "tie_word_embeddings", "num_labels",
                        "id2label", "label2id", "problem_type", "sparse_prediction"},
    .presets = {"base", "large", "tiny"},
    .fresh_config = fresh_modernbert,
};

}  // namespace attend
