// XLNet: Yang et al. 2019, arXiv:1906.08237: Transformer-XL's relative positions in both directions.
// Checkpoints: xlnet/xlnet-base-cased, xlnet/xlnet-large-cased.
#include "base/error.h"
#include "models/families/summary.h"

#include <algorithm>

namespace attend {
namespace {

// How many states of each layer are kept for the next segment.
std::optional<std::int64_t> read_memory(const Fields& config) {
  if (!config.flag({"use_mems_eval"}, true)) return {};
  return config.maybe_integer({"mem_len"}, 0).value_or(0);
}

StackSpec read_xlnet_stack(const Fields& config) {
  const std::int64_t width = config.integer({"d_model", "hidden_size"}, 1024);
  const NormSpec norm{config.number({"layer_norm_eps"}, 1e-12, 0, 1)};
  const double dropout = read_dropout(config, {"dropout"}, 0.1);
  const std::string direction = config.text({"attn_type"}, "bi");
  if (direction != "bi" && direction != "uni")
    fail("{}: attn_type: expected bi or uni, found {}", config.source(), shown(Json(direction)));
  AttentionSpec attention = read_attention(config, {"n_head", "num_attention_heads"}, 16, width);
  attention.distance = DistanceTerms{.biases = true, .segments = true, .dropout = dropout};
  attention.input_bias = attention.output_bias = false;
  attention.dropout = dropout;
  const LayerSpec layer = {
      .order = NormOrder::post,
      .norm = norm,
      .self_attention = attention,
      .cross_attention = {},
      .feed_forward = {.width = config.integer({"d_inner"}, 4096),
                       .activation = read_activation(config, {"ff_activation"}, "gelu"),
                       .dropout = dropout},
      .attention_result_dropout = dropout,
      .feed_forward_result_dropout = dropout,
  };
  return {
      .embeddings = {.vocabulary = config.integer({"vocab_size"}, 32000),
                     .width = width,
                     .positions = {},
                     .norm = {},
                     .dropout = dropout,
                     .mask_vector = true},
      .layers = std::vector<LayerSpec>(config.integer({"n_layer", "num_hidden_layers"}, 24, 1, 10000), layer),
      .final_norm = {},
      .final_dropout = dropout,
      .distances = SinusoidalDistances{.clamp = std::max<std::int64_t>(
                                           0, config.integer({"clamp_len"}, -1, -1, 1 << 30))},
      .convolution = {},
      .weights_of = {},
      .two_streams = true,
      .looks_back = direction == "uni",
      .same_length = direction == "uni" && config.flag({"same_length"}, false),
      .half_backwards = config.flag({"bi_data"}, false),
      .memory = read_memory(config),
      .remembered = config.maybe_integer({"reuse_len"}, 0).value_or(0),
  };
}

// A sentence is scored by its summary, usually of the last token, which is [CLS] in XLNet.
std::optional<ScoreHeadSpec> read_xlnet_scores(const Fields& config, std::string_view architecture,
                                               std::int64_t width) {
  ScoreHeadSpec summary = {.dense = {}, .problem = {}};
  if (architecture.ends_with("ForSequenceClassification") || architecture.ends_with("ForMultipleChoice"))
    summary = read_summary_before_scores(config, {.type = "last", .activation = "tanh", .last_dropout = 0.1},
                                         read_label_count(config), width, width);
  return read_score_head(config, architecture, summary);
}

ModelSpec xlnet_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  model.encoder = read_xlnet_stack(config);
  if (architecture == "XLNetLMHeadModel")
    model.language_model_head = LanguageModelHeadSpec{
        .transform = {}, .bias = true, .untied = !config.flag({"tie_word_embeddings"}, true)};
  if (architecture == "XLNetForQuestionAnswering")
    model.span_search = read_span_search(config, model.encoder->layers.front().norm);
  else
    model.score_head = read_xlnet_scores(config, architecture, model.encoder->width());
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  return model;
}

std::vector<WeightName> xlnet_weights(const ModelSpec& model) {
  const AttentionSpec& attention = model.encoder->layers.front().self_attention;
  const std::int64_t width = model.encoder->width(), heads = attention.heads, size = attention.head_size;
  const std::string layer = "transformer.layer.{i}.", ours = "encoder.layers.{i}.";
  const std::string theirs = layer + "rel_attn.", self = ours + "self_attention.";
  const std::vector<std::int64_t> matrix{width, heads, size}, bias{heads, size};
  const auto projection = [&](const std::string& name, const std::string& our) {
    return WeightName{
        .checkpoint = theirs + name, .ours = self + our, .layout = WeightLayout::transposed, .shape = matrix};
  };
  const auto vector = [&](const std::string& name, const std::string& our) {
    return WeightName{.checkpoint = theirs + name, .ours = self + our, .shape = bias};
  };
  std::vector<WeightName> table = {
      // checkpoint, ours
      {"transformer.word_embedding.weight", "encoder.embeddings.tokens"},
      {.checkpoint = "transformer.mask_emb", .ours = "encoder.embeddings.mask", .shape = {1, 1, width}},
      projection("{q|k|v}", "query_key_value.weight"),
      projection("r", "distance_key.weight"),
      {.checkpoint = theirs + "o", .ours = self + "output.weight", .shape = matrix},
      vector("r_w_bias", "content_bias"),
      vector("r_r_bias", "distance_bias"),
      vector("r_s_bias", "segment_bias"),
      {.checkpoint = theirs + "seg_embed", .ours = self + "segments", .shape = {2, heads, size}},
      {theirs + "layer_norm.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {layer + "ff.layer_1.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {layer + "ff.layer_2.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {layer + "ff.layer_norm.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {"lm_loss.{weight|bias}", "language_model_head.{weight|bias}"},
  };
  if (model.span_search)
    for (WeightName& row : span_search_weights("")) table.push_back(std::move(row));
  if (model.score_head && model.score_head->dense) {
    table.push_back({"sequence_summary.summary.{weight|bias}", "score_head.dense.{weight|bias}"});
    table.push_back({"logits_proj.{weight|bias}", "score_head.out.{weight|bias}"});
  } else {
    table.push_back(score_weights(model));
  }
  return table;
}

Json fresh_xlnet(std::string_view preset) {
  struct Size {
    std::string_view name;
    int width, layers, heads, inner;
  };
  static constexpr Size sizes[] = {
      {"base", 768, 12, 12, 3072}, {"large", 1024, 24, 16, 4096}, {"tiny", 256, 4, 4, 1024}};
  const Size& size = *std::ranges::find(sizes, preset, &Size::name);
  return {{"model_type", "xlnet"},   {"architectures", {"XLNetLMHeadModel"}},
          {"vocab_size", 32000},     {"d_model", size.width},
          {"n_layer", size.layers},  {"n_head", size.heads},
          {"d_inner", size.inner},   {"ff_activation", "gelu"},
          {"untie_r", true},         {"attn_type", "bi"},
          {"clamp_len", -1},         {"initializer_range", 0.02},
          {"layer_norm_eps", 1e-12}, {"dropout", 0.1},
          {"pad_token_id", 5},       {"bos_token_id", 1},
          {"eos_token_id", 2}};
}

}  // namespace

extern const Family xlnet;
const Family xlnet = {
    .model_type = "xlnet",
    .prefix = "transformer",
    .architectures = {"XLNetModel", "XLNetLMHeadModel", "XLNetForSequenceClassification",
                      "XLNetForTokenClassification", "XLNetForMultipleChoice",
                      "XLNetForQuestionAnsweringSimple", "XLNetForQuestionAnswering"},
    .spec = xlnet_spec,
    .weights = xlnet_weights,
    .ignored = {"lm_loss.{weight|bias}", "{sequence_summary.summary|logits_proj}.{weight|bias}"},
    .optional_fields = {"num_labels", "id2label", "label2id", "problem_type", "mem_len", "use_mems_eval",
                        "reuse_len", "same_length", "bi_data", "start_n_top", "end_n_top", "summary_type",
                        "summary_use_proj", "summary_activation", "summary_last_dropout",
                        "tie_word_embeddings"},
    .presets = {"base", "large", "tiny"},
    .fresh_config = fresh_xlnet,
};

}  // namespace attend
