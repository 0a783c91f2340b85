// BERT: Devlin et al. 2018, arXiv:1810.04805.
// Checkpoints: google-bert/*, sentence-transformers/all-MiniLM-L6-v2 (Wang et al. 2020, arXiv:2002.10957).
// ERNIE 1.0 to 3.0: Sun et al. 2019, arXiv:1904.09223, and 2021, arXiv:2107.02137: BERT, in later versions
// with a vector for the task. Checkpoints: nghuyong/ernie-*.
#include "models/families/bert_encoder.h"

namespace attend {
namespace {

constexpr BertRelative bert_relative = {.decodes = true, .distances = true};

ModelSpec bert_spec(const Fields& config, std::string_view architecture) {
  return bert_model(config, architecture, bert_relative);
}

ModelSpec ernie_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = bert_model(config, architecture, bert_relative);
  if (config.flag({"use_task_id"}, false))
    (model.encoder ? model.encoder : model.decoder)->embeddings.tasks =
        config.integer({"task_type_vocab_size"}, 3);
  return model;
}

std::vector<WeightName> ernie_weights(const ModelSpec& model) {
  std::vector<WeightName> table = bert_weights(model, "ernie");
  table.push_back({"ernie.embeddings.task_type_embeddings.weight", "{encoder|decoder}.embeddings.tasks"});
  return table;
}

std::vector<std::string_view> ernie_optional_fields() {
  std::vector<std::string_view> fields = bert_optional_fields();
  fields.insert(fields.end(), {"use_task_id", "task_type_vocab_size"});
  return fields;
}

}  // namespace

ModelSpec bert_model(const Fields& config, std::string_view architecture, const BertRelative& relative) {
  ModelSpec model;
  const LayerSpec& layer = put_bert_stack(model, config, architecture, relative).layers.front();
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  const bool pretraining = architecture.ends_with("ForPreTraining");
  if (pretraining || architecture.ends_with("ForMaskedLM") || model.decoder)
    model.language_model_head = masked_language_model(config, layer.feed_forward.activation, layer.norm);
  if (pretraining) {
    put_pretraining_heads(model);
  } else if (architecture.ends_with("ForNextSentencePrediction")) {
    model.score_head = ScoreHeadSpec{.kind = ScoreKind::next_sentence, .dense = {}, .problem = {}};
  } else {
    model.score_head = read_score_head(
        config, architecture,
        {.input = HeadInput::pooled,
         .dense = {},
         .problem = {},
         .dropout = read_dropout(config, {"classifier_dropout", "hidden_dropout_prob"}, relative.dropout)});
  }
  const bool body = architecture.ends_with("Model") && !model.decoder;
  model.pooler = body || (model.score_head && model.score_head->input == HeadInput::pooled);
  return model;
}

std::vector<WeightName> bert_weights(const ModelSpec& model, const std::string& prefix,
                                     const BertNormNames& norms) {
  std::vector<WeightName> table = bert_embedding_weights(prefix);
  for (WeightName& row : bert_layer_weights(prefix, norms)) table.push_back(std::move(row));
  for (WeightName& row : bert_prediction_weights()) table.push_back(std::move(row));
  table.push_back(bert_score_weights(model));
  return table;
}

extern const Family bert, ernie;
const Family bert = {
    .model_type = "bert",
    .prefix = "bert",
    .architectures = {"BertModel", "BertForMaskedLM", "BertLMHeadModel", "BertForPreTraining",
                      "BertForNextSentencePrediction", "BertForSequenceClassification",
                      "BertForTokenClassification", "BertForQuestionAnswering", "BertForMultipleChoice"},
    .spec = bert_spec,
    .weights = [](const ModelSpec& model) { return bert_weights(model, "bert"); },
    .ignored = {"bert.embeddings.position_ids", "cls.seq_relationship.{weight|bias}",
                "cls.predictions.{bias|decoder.weight|decoder.bias}",
                "cls.predictions.transform.{dense|LayerNorm}.{weight|bias}",
                "bert.pooler.dense.{weight|bias}"},
    .optional_fields = bert_optional_fields(),
    .presets = {"base", "tiny"},
    .fresh_config = [](std::string_view preset) -> Json {
      return fresh_bert_config("bert", "BertForMaskedLM", sized(bert_relative, preset));
    },
};
const Family ernie = {
    .model_type = "ernie",
    .prefix = "ernie",
    .architectures = {"ErnieModel", "ErnieForMaskedLM", "ErnieForCausalLM", "ErnieForPreTraining",
                      "ErnieForNextSentencePrediction", "ErnieForSequenceClassification",
                      "ErnieForTokenClassification", "ErnieForQuestionAnswering", "ErnieForMultipleChoice"},
    .spec = ernie_spec,
    .weights = ernie_weights,
    .ignored = {"ernie.embeddings.position_ids", "cls.seq_relationship.{weight|bias}",
                "cls.predictions.{bias|decoder.weight|decoder.bias}",
                "cls.predictions.transform.{dense|LayerNorm}.{weight|bias}",
                "ernie.pooler.dense.{weight|bias}"},
    .optional_fields = ernie_optional_fields(),
    .presets = {"base", "tiny"},
    .fresh_config = [](std::string_view preset) -> Json {
      return fresh_bert_config("ernie", "ErnieForMaskedLM", sized(bert_relative, preset));
    },
};

}  // namespace attend
