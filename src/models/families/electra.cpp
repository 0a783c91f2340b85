// ELECTRA: Clark et al. 2020, arXiv:2003.10555: BERT's encoder, trained to detect the tokens that a small
// generator has replaced. Checkpoints: google/electra-*-{discriminator,generator}.
#include "models/families/bert_encoder.h"
#include "models/families/summary.h"

namespace attend {
namespace {

constexpr BertRelative electra_relative = {
    .width = 256, .heads = 4, .inner = 1024, .embedding_size = true, .decodes = true, .distances = true};

ModelSpec electra_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  const LayerSpec& layer = put_bert_stack(model, config, architecture, electra_relative).layers.front();
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  const double dropout =
      read_dropout(config, {"classifier_dropout", "hidden_dropout_prob"}, electra_relative.dropout);
  if (architecture == "ElectraForMaskedLM" || model.decoder) {
    model.language_model_head = masked_language_model(config, Activation::gelu, layer.norm);
  } else if (architecture == "ElectraForPreTraining") {
    model.score_head = ScoreHeadSpec{.kind = ScoreKind::replaced_tokens,
                                     .input = HeadInput::every_token,
                                     .dense = layer.feed_forward.activation,
                                     .labels = 1,
                                     .problem = {}};
  } else {
    ScoreHeadSpec sentence = {.input = HeadInput::first_token,
                              .dense = Activation::gelu,
                              .problem = {},
                              .dense_dropout = dropout,
                              .dropout = dropout};
    if (architecture == "ElectraForMultipleChoice")
      sentence = read_summary_before_scores(
          config, {.type = "first", .activation = "gelu", .last_dropout = 0.1}, read_label_count(config),
          model.encoder->width(), model.encoder->width());
    model.score_head = read_score_head(config, architecture, sentence);
  }
  return model;
}

std::vector<WeightName> electra_weights(const ModelSpec& model) {
  std::vector<WeightName> table = bert_embedding_weights("electra");
  for (WeightName& row : bert_layer_weights("electra")) table.push_back(std::move(row));
  table.push_back(
      {"electra.embeddings_project.{weight|bias}", "{encoder|decoder}.embeddings.projection.{weight|bias}"});
  table.push_back({"generator_predictions.dense.{weight|bias}", "language_model_head.dense.{weight|bias}"});
  table.push_back(
      {"generator_predictions.LayerNorm.{weight|bias}", "language_model_head.norm.{weight|bias}"});
  table.push_back({"generator_lm_head.{weight|bias}", "language_model_head.{weight|bias}"});
  if (!model.score_head) return table;
  switch (model.score_head->kind) {
    case ScoreKind::replaced_tokens:
      table.push_back({"discriminator_predictions.dense.{weight|bias}", "score_head.dense.{weight|bias}"});
      table.push_back(
          {"discriminator_predictions.dense_prediction.{weight|bias}", "score_head.out.{weight|bias}"});
      break;
    case ScoreKind::sequence_classification:
      table.push_back({"classifier.dense.{weight|bias}", "score_head.dense.{weight|bias}"});
      table.push_back({"classifier.out_proj.{weight|bias}", "score_head.out.{weight|bias}"});
      break;
    default:
      table.push_back({"sequence_summary.summary.{weight|bias}", "score_head.dense.{weight|bias}"});
      table.push_back(score_weights(model));
  }
  return table;
}

// The discriminators, each with its generator: a quarter as wide (section 3.2 of the paper), with embeddings
// of the same width, which the two share.
Json fresh_electra(std::string_view preset) {
  const bool generator = preset.ends_with("-generator");
  BertRelative size = sized(electra_relative, preset.substr(0, preset.find('-')));
  if (generator) size.width /= 4, size.heads /= 4, size.inner /= 4;
  Json config =
      fresh_bert_config("electra", generator ? "ElectraForMaskedLM" : "ElectraForPreTraining", size);
  config["embedding_size"] = 128;
  return config;
}

}  // namespace

extern const Family electra;
const Family electra = {
    .model_type = "electra",
    .prefix = "electra",
    .architectures = {"ElectraModel", "ElectraForPreTraining", "ElectraForMaskedLM", "ElectraForCausalLM",
                      "ElectraForSequenceClassification", "ElectraForTokenClassification",
                      "ElectraForQuestionAnswering", "ElectraForMultipleChoice"},
    .spec = electra_spec,
    .weights = electra_weights,
    .ignored = {"electra.embeddings.position_ids",
                "discriminator_predictions.{dense|dense_prediction}.{weight|bias}",
                "generator_predictions.{dense|LayerNorm}.{weight|bias}", "generator_lm_head.{weight|bias}"},
    .optional_fields = bert_optional_fields(),
    .presets = {"small", "small-generator", "tiny", "tiny-generator"},
    .fresh_config = fresh_electra,
};

}  // namespace attend
