// DistilBERT: Sanh et al. 2019, arXiv:1910.01108: BERT with half the layers, without token types and pooler.
// Checkpoints: distilbert/*.
#include "models/families/bert_encoder.h"

namespace attend {
namespace {

constexpr BertRelative distilbert_relative = {.layers = 6, .types = 0};

ModelSpec distilbert_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  model.encoder = bert_encoder(config, distilbert_relative);
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  for (LayerSpec& each : model.encoder->layers) each.attention_result_dropout = 0;
  const LayerSpec& layer = model.encoder->layers.front();
  std::get<LearnedPositions>(model.encoder->embeddings.positions).trained =
      !config.flag({"sinusoidal_pos_embds"}, false);
  if (architecture == "DistilBertForMaskedLM")
    model.language_model_head = masked_language_model(config, layer.feed_forward.activation, layer.norm);
  model.score_head = read_score_head(config, architecture,
                                     {.input = HeadInput::first_token,
                                      .dense = Activation::relu,
                                      .problem = {},
                                      .dropout = read_dropout(config, {"seq_classif_dropout"}, 0.2)});
  if (model.score_head && model.score_head->kind == ScoreKind::token_classification)
    model.score_head->dropout = layer.feed_forward_result_dropout;
  if (model.score_head && model.score_head->kind == ScoreKind::question_answering)
    model.score_head->dropout = read_dropout(config, {"qa_dropout"}, 0.1);
  return model;
}

std::vector<WeightName> distilbert_weights(const ModelSpec& model) {
  std::vector<WeightName> table = bert_embedding_weights("distilbert");
  const auto& positions = std::get<LearnedPositions>(model.encoder->embeddings.positions);
  for (WeightName& row : table)
    if (row.ours.ends_with(".positions")) row.frozen = !positions.trained;
  const std::string layer = "distilbert.transformer.layer.{i}.", ours = "encoder.layers.{i}.";
  table.insert(table.end(),
               {
                   {layer + "attention.{q_lin|k_lin|v_lin}.{weight|bias}",
                    ours + "self_attention.query_key_value.{weight|bias}"},
                   {layer + "attention.out_lin.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
                   {layer + "sa_layer_norm.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
                   {layer + "ffn.lin1.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
                   {layer + "ffn.lin2.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
                   {layer + "output_layer_norm.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
                   {"vocab_transform.{weight|bias}", "language_model_head.dense.{weight|bias}"},
                   {"vocab_layer_norm.{weight|bias}", "language_model_head.norm.{weight|bias}"},
                   {"vocab_projector.{weight|bias}", "language_model_head.{weight|bias}"},
                   {"pre_classifier.{weight|bias}", "score_head.dense.{weight|bias}"},
                   score_weights(model),
               });
  return table;
}

Json fresh_distilbert(std::string_view preset) {
  const BertRelative size = sized(distilbert_relative, preset);
  return {{"model_type", "distilbert"},
          {"architectures", {"DistilBertForMaskedLM"}},
          {"vocab_size", 30522},
          {"dim", size.width},
          {"n_layers", size.layers},
          {"n_heads", size.heads},
          {"hidden_dim", size.inner},
          {"activation", "gelu"},
          {"dropout", 0.1},
          {"attention_dropout", 0.1},
          {"seq_classif_dropout", 0.2},
          {"max_position_embeddings", 512},
          {"initializer_range", 0.02},
          {"pad_token_id", 0}};
}

}  // namespace

extern const Family distilbert;
const Family distilbert = {
    .model_type = "distilbert",
    .prefix = "distilbert",
    .architectures = {"DistilBertModel", "DistilBertForMaskedLM", "DistilBertForSequenceClassification",
                      "DistilBertForTokenClassification", "DistilBertForQuestionAnswering",
                      "DistilBertForMultipleChoice"},
    .spec = distilbert_spec,
    .weights = distilbert_weights,
    .ignored = {"distilbert.embeddings.position_ids",
                "{vocab_transform|vocab_layer_norm|vocab_projector}.{weight|bias}"},
    .optional_fields = bert_optional_fields(),
    .presets = {"base", "tiny"},
    .fresh_config = fresh_distilbert,
};

}  // namespace attend
