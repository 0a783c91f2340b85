// BERT: Devlin et al. 2018, arXiv:1810.04805.
// Checkpoints: google-bert/*, sentence-transformers/all-MiniLM-L6-v2 (Wang et al. 2020, arXiv:2002.10957).
#include "models/bert_encoder.h"

namespace attend {
namespace {

constexpr BertRelative bert_relative = {.decodes = true, .distances = true};

ModelSpec bert_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  const LayerSpec& layer = put_bert_stack(model, config, architecture, bert_relative).layers.front();
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  const bool pretraining = architecture == "BertForPreTraining";
  if (pretraining || architecture == "BertForMaskedLM" || model.decoder)
    model.language_model_head = masked_language_model(config, layer.feed_forward.activation, layer.norm);
  if (pretraining) {
    put_pretraining_heads(model);
  } else if (architecture == "BertForNextSentencePrediction") {
    model.score_head = ScoreHeadSpec{.kind = ScoreKind::next_sentence, .dense = {}, .problem = {}};
  } else {
    model.score_head =
        read_score_head(config, architecture,
                        {.input = HeadInput::pooled,
                         .dense = {},
                         .problem = {},
                         .dropout = read_dropout(config, {"classifier_dropout", "hidden_dropout_prob"},
                                                 bert_relative.dropout)});
  }
  model.pooler =
      architecture == "BertModel" || (model.score_head && model.score_head->input == HeadInput::pooled);
  return model;
}

std::vector<WeightName> bert_weights(const ModelSpec& model) {
  std::vector<WeightName> table = bert_embedding_weights("bert");
  for (WeightName& row : bert_layer_weights("bert")) table.push_back(std::move(row));
  for (WeightName& row : bert_prediction_weights()) table.push_back(std::move(row));
  table.push_back(bert_score_weights(model));
  return table;
}

Json fresh_bert(std::string_view preset) {
  return fresh_bert_config("bert", "BertForMaskedLM", sized(bert_relative, preset));
}

}  // namespace

extern const Family bert;
const Family bert = {
    .model_type = "bert",
    .prefix = "bert",
    .architectures = {"BertModel", "BertForMaskedLM", "BertLMHeadModel", "BertForPreTraining",
                      "BertForNextSentencePrediction", "BertForSequenceClassification",
                      "BertForTokenClassification", "BertForQuestionAnswering", "BertForMultipleChoice"},
    .spec = bert_spec,
    .weights = bert_weights,
    .ignored = {"bert.embeddings.position_ids", "cls.seq_relationship.{weight|bias}",
                "cls.predictions.{bias|decoder.weight|decoder.bias}",
                "cls.predictions.transform.{dense|LayerNorm}.{weight|bias}",
                "bert.pooler.dense.{weight|bias}"},
    .optional_fields = bert_optional_fields(),
    .presets = {"base", "tiny"},
    .fresh_config = fresh_bert,
};

}  // namespace attend
