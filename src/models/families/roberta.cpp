// RoBERTa: Liu et al. 2019, arXiv:1907.11692. XLM-R: Conneau et al. 2019, arXiv:1911.02116: the same model
// for a hundred languages. CamemBERT: Martin et al. 2019, arXiv:1911.03894: for French. The text model of
// data2vec: Baevski et al. 2022, arXiv:2202.03555, with another training objective. Checkpoints:
// FacebookAI/roberta-*, FacebookAI/xlm-roberta-*, almanach/camembert-*, facebook/data2vec-text-base.
#include "models/families/bert_encoder.h"

namespace attend {
namespace {

constexpr BertRelative roberta_relative = {.vocabulary = 50265,
                                           .padding_id = 1,
                                           .norm_epsilon = 1e-12,
                                           .positions_after_padding = true,
                                           .decodes = true,
                                           .distances = true};
constexpr BertRelative smaller_vocabulary = [] {
  BertRelative relative = roberta_relative;
  relative.vocabulary = 30522;
  return relative;
}();

template <const BertRelative& relative>
ModelSpec roberta_spec(const Fields& config, std::string_view architecture) {
  return roberta_model(config, architecture, relative);
}

std::vector<WeightName> usual_weights(const ModelSpec& model) {
  return roberta_weights(model, "roberta");
}

Family make_family(std::string_view model_type, const std::vector<std::string_view>& architectures,
                   ModelSpec (*spec)(const Fields&, std::string_view),
                   Json (*fresh_config)(std::string_view)) {
  return {
      .model_type = model_type,
      .prefix = "roberta",
      .architectures = architectures,
      .spec = spec,
      .weights = usual_weights,
      .ignored = {"roberta.embeddings.position_ids", "roberta.pooler.dense.{weight|bias}",
                  "lm_head.{bias|decoder.weight|decoder.bias}", "lm_head.{dense|layer_norm}.{weight|bias}"},
      .optional_fields = bert_optional_fields(),
      .presets = {"base", "tiny"},
      .fresh_config = fresh_config};
}

Family make_data2vec() {
  Family family = make_family("data2vec-text",
                              {"Data2VecTextModel", "Data2VecTextForMaskedLM", "Data2VecTextForCausalLM",
                               "Data2VecTextForSequenceClassification", "Data2VecTextForTokenClassification",
                               "Data2VecTextForQuestionAnswering", "Data2VecTextForMultipleChoice"},
                              roberta_spec<smaller_vocabulary>, [](std::string_view preset) -> Json {
                                return fresh_bert_config("data2vec-text", "Data2VecTextForMaskedLM",
                                                         sized(roberta_relative, preset));
                              });
  family.prefix = "data2vec_text";
  family.weights = [](const ModelSpec& model) { return roberta_weights(model, "data2vec_text"); };
  family.ignored[0] = "data2vec_text.embeddings.position_ids";
  family.ignored[1] = "data2vec_text.pooler.dense.{weight|bias}";
  return family;
}

}  // namespace

ModelSpec roberta_model(const Fields& config, std::string_view architecture, const BertRelative& relative) {
  ModelSpec model;
  const StackSpec& stack = put_bert_stack(model, config, architecture, relative);
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  if (architecture.ends_with("ForMaskedLM") || model.decoder)
    model.language_model_head = masked_language_model(config, Activation::gelu, stack.layers.front().norm);
  // A sentence is scored from its first token through a separate layer; only multiple choice uses the pooler.
  const double dropout =
      read_dropout(config, {"classifier_dropout", "hidden_dropout_prob"}, relative.dropout);
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

std::vector<WeightName> roberta_head_weights(const ModelSpec& model) {
  const bool dense = model.score_head && model.score_head->dense;
  return {
      {"lm_head.dense.{weight|bias}", "language_model_head.dense.{weight|bias}"},
      {"lm_head.layer_norm.{weight|bias}", "language_model_head.norm.{weight|bias}"},
      {.checkpoint = "lm_head.bias", .ours = "language_model_head.bias", .aliases = {"lm_head.decoder.bias"}},
      {"lm_head.decoder.weight", "language_model_head.weight"},
      {"classifier.dense.{weight|bias}", "score_head.dense.{weight|bias}"},
      dense ? WeightName{"classifier.out_proj.{weight|bias}", "score_head.out.{weight|bias}"}
            : score_weights(model),
  };
}

std::vector<WeightName> roberta_weights(const ModelSpec& model, const std::string& prefix,
                                        const BertNormNames& norms) {
  std::vector<WeightName> table = bert_embedding_weights(prefix);
  for (WeightName& row : bert_layer_weights(prefix, norms)) table.push_back(std::move(row));
  for (WeightName& row : roberta_head_weights(model)) table.push_back(std::move(row));
  return table;
}

extern const Family roberta, xlm_roberta, camembert, data2vec_text;
const Family roberta = make_family(
    "roberta",
    {"RobertaModel", "RobertaForMaskedLM", "RobertaForCausalLM", "RobertaForSequenceClassification",
     "RobertaForTokenClassification", "RobertaForQuestionAnswering", "RobertaForMultipleChoice"},
    roberta_spec<roberta_relative>, [](std::string_view preset) -> Json {
      return fresh_bert_config("roberta", "RobertaForMaskedLM", sized(roberta_relative, preset));
    });
const Family xlm_roberta = make_family(
    "xlm-roberta",
    {"XLMRobertaModel", "XLMRobertaForMaskedLM", "XLMRobertaForCausalLM",
     "XLMRobertaForSequenceClassification", "XLMRobertaForTokenClassification",
     "XLMRobertaForQuestionAnswering", "XLMRobertaForMultipleChoice"},
    roberta_spec<roberta_relative>, [](std::string_view preset) -> Json {
      return fresh_bert_config("xlm-roberta", "XLMRobertaForMaskedLM", sized(roberta_relative, preset));
    });
const Family camembert = make_family(
    "camembert",
    {"CamembertModel", "CamembertForMaskedLM", "CamembertForCausalLM", "CamembertForSequenceClassification",
     "CamembertForTokenClassification", "CamembertForQuestionAnswering", "CamembertForMultipleChoice"},
    roberta_spec<smaller_vocabulary>, [](std::string_view preset) -> Json {
      BertRelative size = sized(roberta_relative, preset);
      size.vocabulary = 32005;
      return fresh_bert_config("camembert", "CamembertForMaskedLM", size);
    });
const Family data2vec_text = make_data2vec();

}  // namespace attend
