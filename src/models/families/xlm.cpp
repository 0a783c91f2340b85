// XLM: Lample & Conneau 2019, arXiv:1901.07291: one encoder for many languages, with a language vector for
// each token. Checkpoints: FacebookAI/xlm-*.
#include "base/error.h"
#include "models/families/summary.h"

#include <cmath>

namespace attend {
namespace {

StackSpec read_xlm_stack(const Fields& config) {
  if (!config.flag({"is_encoder"}, true))
    fail("{}: is_encoder: the original supports only true", config.source());
  const std::int64_t width = config.integer({"emb_dim", "hidden_size"}, 2048, 1, 1 << 28);
  AttentionSpec attention = read_attention(config, {"n_heads", "num_attention_heads"}, 16, width);
  attention.causal = config.flag({"causal"}, false);
  attention.dropout = read_dropout(config, {"attention_dropout"}, 0.1);
  const NormSpec norm{config.number({"layer_norm_eps"}, 1e-12, 0, 1)};
  const double dropout = read_dropout(config, {"dropout"}, 0.1);
  const LayerSpec layer = {
      .order = NormOrder::post,
      .norm = norm,
      .self_attention = attention,
      .cross_attention = {},
      .feed_forward = {.width = 4 * width,
                       .activation =
                           config.flag({"gelu_activation"}, true) ? Activation::gelu : Activation::relu},
      .attention_result_dropout = dropout,
      .feed_forward_result_dropout = dropout,
  };
  const std::int64_t vocabulary = config.integer({"vocab_size", "n_words"}, 30145);
  const std::int64_t languages = config.integer({"n_langs"}, 1);
  return {
      .embeddings = {.vocabulary = vocabulary,
                     .width = width,
                     .positions = LearnedPositions{.count = config.integer({"max_position_embeddings"}, 512),
                                                   .trained = !config.flag({"sinusoidal_embeddings"}, false)},
                     .types_are_tokens = true,
                     .languages = languages > 1 && config.flag({"use_lang_emb"}, true) ? languages : 0,
                     .padding_id = config.integer({"pad_index"}, 2, 0, vocabulary - 1),
                     .norm = norm,
                     .dropout = dropout},
      .layers =
          std::vector<LayerSpec>(config.integer({"n_layers", "num_hidden_layers"}, 12, 1, 10000), layer),
      .final_norm = {},
      .weights_of = {},
      .quirks = {.padding_is_zero = true}};
}

// The language of generated text; none if tokens have no language.
std::optional<std::int64_t> read_language(const Fields& config, std::int64_t languages) {
  if (languages == 0) return {};
  const Json& json = config.json();
  if (const auto found = json.find("lang_id"); found != json.end() && found->is_null()) return {};
  return config.integer({"lang_id"}, 0, 0, languages - 1);
}

// A sentence's scores are its summary; a choice's score is a matrix over the summary.
std::optional<ScoreHeadSpec> read_xlm_scores(const Fields& config, std::string_view architecture,
                                             std::int64_t width) {
  constexpr SummaryDefaults defaults = {.type = "first", .to_labels = true, .first_dropout = 0.1};
  const std::int64_t labels = read_label_count(config);
  if (architecture.ends_with("ForMultipleChoice"))
    return read_score_head(config, architecture,
                           read_summary_before_scores(config, defaults, labels, width, labels));
  if (architecture.ends_with("ForSequenceClassification")) {
    const ScoreHeadSpec summary = read_summary_scores(config, defaults, labels, width);
    std::optional<ScoreHeadSpec> head = read_score_head(config, architecture, summary);
    head->labels = summary.labels;
    return head;
  }
  std::optional<ScoreHeadSpec> head = read_score_head(config, architecture, {.dense = {}, .problem = {}});
  if (head && head->kind == ScoreKind::token_classification)
    head->dropout = read_dropout(config, {"dropout"}, 0.1);
  return head;
}

ModelSpec xlm_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  model.encoder = read_xlm_stack(config);
  if (architecture == "XLMWithLMHeadModel") {
    if (config.flag({"asm"}, false))
      fail("{}: asm: an adaptive softmax is not supported, only false", config.source());
    model.language_model_head = LanguageModelHeadSpec{
        .transform = {}, .bias = true, .untied = !config.flag({"tie_word_embeddings"}, true)};
  }
  if (model.language_model_head)
    model.appended_mask =
        AppendedMask{.id = config.integer({"mask_token_id"}, 0, 0, model.encoder->embeddings.vocabulary - 1),
                     .language = read_language(config, model.encoder->embeddings.languages)};
  if (architecture == "XLMForQuestionAnswering")
    model.span_search = read_span_search(config, model.encoder->layers.front().norm);
  else
    model.score_head = read_xlm_scores(config, architecture, model.encoder->width());
  model.initialization.range = config.number({"init_std"}, 0.02, 0, 10);
  model.initialization.embeddings = config.number({"embed_init_std"}, std::pow(2048, -0.5), 0, 10);
  return model;
}

std::vector<WeightName> xlm_weights(const ModelSpec& model) {
  const std::string ours = "encoder.layers.{i}.";
  std::vector<WeightName> table = {
      // checkpoint, ours
      {"transformer.embeddings.weight", "encoder.embeddings.tokens"},
      {"transformer.position_embeddings.weight", "encoder.embeddings.positions", WeightLayout::same,
       !std::get<LearnedPositions>(model.encoder->embeddings.positions).trained},
      {"transformer.lang_embeddings.weight", "encoder.embeddings.languages"},
      {"transformer.layer_norm_emb.{weight|bias}", "encoder.embeddings.norm.{weight|bias}"},
      {"transformer.attentions.{i}.{q_lin|k_lin|v_lin}.{weight|bias}",
       ours + "self_attention.query_key_value.{weight|bias}"},
      {"transformer.attentions.{i}.out_lin.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {"transformer.layer_norm1.{i}.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {"transformer.ffns.{i}.lin1.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {"transformer.ffns.{i}.lin2.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {"transformer.layer_norm2.{i}.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {"pred_layer.proj.{weight|bias}", "language_model_head.{weight|bias}"},
  };
  if (model.span_search)
    for (WeightName& row : span_search_weights("qa_outputs.")) table.push_back(std::move(row));
  if (!model.score_head) return table;
  switch (model.score_head->kind) {
    case ScoreKind::multiple_choice:
      table.push_back({"sequence_summary.summary.{weight|bias}", "score_head.dense.{weight|bias}"});
      table.push_back({"logits_proj.{weight|bias}", "score_head.out.{weight|bias}"});
      break;
    case ScoreKind::sequence_classification:
      table.push_back({"sequence_summary.summary.{weight|bias}", "score_head.out.{weight|bias}"});
      break;
    default:
      table.push_back(score_weights(model));
  }
  return table;
}

Json fresh_xlm(std::string_view preset) {
  const bool tiny = preset == "tiny";
  return {{"model_type", "xlm"},
          {"architectures", {"XLMWithLMHeadModel"}},
          {"vocab_size", 30145},
          {"emb_dim", tiny ? 256 : 1024},
          {"n_layers", tiny ? 4 : 12},
          {"n_heads", tiny ? 4 : 8},
          {"dropout", 0.1},
          {"attention_dropout", 0.1},
          {"gelu_activation", true},
          {"causal", false},
          {"n_langs", 1},
          {"use_lang_emb", true},
          {"max_position_embeddings", 512},
          {"layer_norm_eps", 1e-12},
          {"init_std", 0.02},
          {"embed_init_std", std::pow(2048, -0.5)},
          {"pad_index", 2},
          {"pad_token_id", 2}};
}

}  // namespace

extern const Family xlm;
const Family xlm = {
    .model_type = "xlm",
    .prefix = "transformer",
    .architectures = {"XLMWithLMHeadModel", "XLMModel", "XLMForSequenceClassification",
                      "XLMForTokenClassification", "XLMForMultipleChoice", "XLMForQuestionAnsweringSimple",
                      "XLMForQuestionAnswering"},
    .spec = xlm_spec,
    .weights = xlm_weights,
    .ignored = {"transformer.position_ids", "pred_layer.proj.{weight|bias}"},
    .optional_fields = {"sinusoidal_embeddings", "summary_type", "summary_use_proj", "summary_activation",
                        "summary_proj_to_labels", "summary_first_dropout", "start_n_top", "end_n_top",
                        "num_labels", "id2label", "label2id", "problem_type", "tie_word_embeddings",
                        "mask_token_id", "lang_id", "lang2id", "id2lang"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_xlm,
};

}  // namespace attend
