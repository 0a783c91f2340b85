// RoBERTa: Liu et al. 2019, arXiv:1907.11692. XLM-R: Conneau et al. 2019, arXiv:1911.02116: the same model
// over a hundred languages. Checkpoints: FacebookAI/roberta-*, FacebookAI/xlm-roberta-*.
#include "models/bert_encoder.h"

namespace attend {
namespace {

constexpr BertRelative roberta_relative = {.vocabulary = 50265,
                                           .padding_id = 1,
                                           .norm_epsilon = 1e-12,
                                           .positions_after_padding = true,
                                           .decodes = true,
                                           .distances = true};

ModelSpec roberta_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  const StackSpec& stack = put_bert_stack(model, config, architecture, roberta_relative);
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  if (architecture.ends_with("ForMaskedLM") || model.decoder)
    model.language_model_head = masked_language_model(config, Activation::gelu, stack.layers.front().norm);
  // A sentence is scored from its first token through a layer of its own; only choices use the pooler.
  const double dropout =
      read_dropout(config, {"classifier_dropout", "hidden_dropout_prob"}, roberta_relative.dropout);
  const bool choice = architecture.ends_with("ForMultipleChoice");
  ScoreHeadSpec sentence = {.input = choice ? HeadInput::pooled : HeadInput::first_token,
                            .dense = {},
                            .problem = {},
                            .dense_dropout = dropout,
                            .dropout = dropout};
  if (!choice) sentence.dense = Activation::tanh;
  model.score_head = read_score_head(config, architecture, sentence);
  model.pooler = choice || architecture.ends_with("Model");
  return model;
}

std::vector<WeightName> roberta_weights(const ModelSpec& model) {
  std::vector<WeightName> table = bert_embedding_weights("roberta");
  for (WeightName& row : bert_layer_weights("roberta")) table.push_back(std::move(row));
  table.push_back({"lm_head.dense.{weight|bias}", "language_model_head.dense.{weight|bias}"});
  table.push_back({"lm_head.layer_norm.{weight|bias}", "language_model_head.norm.{weight|bias}"});
  table.push_back({.checkpoint = "lm_head.bias",
                   .ours = "language_model_head.bias",
                   .aliases = {"lm_head.decoder.bias"}});
  table.push_back({"lm_head.decoder.weight", "language_model_head.weight"});
  table.push_back({"classifier.dense.{weight|bias}", "score_head.dense.{weight|bias}"});
  if (model.score_head && model.score_head->dense)
    table.push_back({"classifier.out_proj.{weight|bias}", "score_head.out.{weight|bias}"});
  else
    table.push_back(score_weights(model));
  return table;
}

Family make_family(std::string_view model_type, const std::vector<std::string_view>& architectures,
                   Json (*fresh_config)(std::string_view)) {
  return {
      .model_type = model_type,
      .prefix = "roberta",
      .architectures = architectures,
      .spec = roberta_spec,
      .weights = roberta_weights,
      .ignored = {"roberta.embeddings.position_ids", "roberta.pooler.dense.{weight|bias}",
                  "lm_head.{bias|decoder.weight|decoder.bias}", "lm_head.{dense|layer_norm}.{weight|bias}"},
      .optional_fields = bert_optional_fields(),
      .presets = {"base", "tiny"},
      .fresh_config = fresh_config};
}

}  // namespace

extern const Family roberta, xlm_roberta;
const Family roberta = make_family(
    "roberta",
    {"RobertaModel", "RobertaForMaskedLM", "RobertaForCausalLM", "RobertaForSequenceClassification",
     "RobertaForTokenClassification", "RobertaForQuestionAnswering", "RobertaForMultipleChoice"},
    [](std::string_view preset) -> Json {
      return fresh_bert_config("roberta", "RobertaForMaskedLM", sized(roberta_relative, preset));
    });
const Family xlm_roberta = make_family(
    "xlm-roberta",
    {"XLMRobertaModel", "XLMRobertaForMaskedLM", "XLMRobertaForCausalLM",
     "XLMRobertaForSequenceClassification", "XLMRobertaForTokenClassification",
     "XLMRobertaForQuestionAnswering", "XLMRobertaForMultipleChoice"},
    [](std::string_view preset) -> Json {
      return fresh_bert_config("xlm-roberta", "XLMRobertaForMaskedLM", sized(roberta_relative, preset));
    });

}  // namespace attend
