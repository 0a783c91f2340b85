// JinaBERT: Günther et al. 2023, arXiv:2310.19923: BERT with ALiBi instead of positions and gated
// feed-forward layers. Checkpoints: jinaai/jina-embeddings-v2-{small|base}-en. Its code is part of the
// checkpoints, not of transformers 4, and their config.json says "bert" (find_family tells the two apart).
#include "base/error.h"
#include "models/families/bert_encoder.h"

namespace attend {
namespace {

constexpr BertRelative jina_relative = {.vocabulary = 30528};

// feed_forward_type: geglu and reglu are gated; "original" is BERT's layer.
void put_jina_feed_forward(const Fields& config, LayerSpec& layer) {
  const std::string kind = config.text({"feed_forward_type"}, "original");
  if (kind == "original") return;
  if (kind != "geglu" && kind != "reglu")
    fail("{}: feed_forward_type: expected original, geglu or reglu, found \"{}\"", config.source(), kind);
  layer.feed_forward.activation = kind == "geglu" ? Activation::gelu : Activation::relu;
  layer.feed_forward.gated = true;
  layer.feed_forward.input_bias = false;
  layer.feed_forward.dropout = layer.feed_forward_result_dropout;
  layer.feed_forward_result_dropout = 0;
}

ModelSpec jina_bert_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = bert_model(config, architecture, jina_relative);
  StackSpec& stack = *model.encoder;
  // Heads that transform hidden states have hidden_act, whatever the layers have.
  for (LayerSpec& layer : stack.layers) put_jina_feed_forward(config, layer);
  stack.embeddings.positions = DistantPositions{config.integer({"max_position_embeddings"}, 512)};
  stack.distances = LinearDistances{};
  return model;
}

std::vector<WeightName> jina_bert_weights(const ModelSpec& model) {
  if (!model.encoder->layers.front().feed_forward.gated) return bert_weights(model, "bert");
  std::vector<WeightName> table = bert_weights(model, "bert", {.feed_forward = "mlp.layernorm"});
  std::erase_if(table, [](const WeightName& row) { return row.ours.find("feed_forward.") != row.ours.npos; });
  const std::string theirs = "bert.encoder.layer.{i}.mlp.", ours = "encoder.layers.{i}.feed_forward.";
  table.push_back({theirs + "gated_layers.weight", ours + "in.weight"});
  table.push_back({theirs + "wo.{weight|bias}", ours + "out.{weight|bias}"});
  return table;
}

Json fresh_jina_bert(std::string_view preset) {
  Json config = fresh_bert_config("bert", "JinaBertForMaskedLM", sized(jina_relative, preset));
  config.update({{"max_position_embeddings", 8192},
                 {"position_embedding_type", "alibi"},
                 {"feed_forward_type", "geglu"},
                 {"attention_probs_dropout_prob", 0.0}});
  return config;
}

}  // namespace

extern const Family jina_bert;
const Family jina_bert = {
    .model_type = "jina_bert",
    .prefix = "bert",
    .architectures = {"JinaBertModel", "JinaBertForMaskedLM", "JinaBertForSequenceClassification",
                      "JinaBertForTokenClassification", "JinaBertForQuestionAnswering"},
    .spec = jina_bert_spec,
    .weights = jina_bert_weights,
    .ignored = {"bert.embeddings.position_ids", "bert.embeddings.position_embeddings.weight",
                "bert.pooler.dense.{weight|bias}", "cls.predictions.{bias|decoder.weight|decoder.bias}",
                "cls.predictions.transform.{dense|LayerNorm}.{weight|bias}"},
    .optional_fields = {"num_labels", "id2label", "label2id", "problem_type", "classifier_dropout",
                        "tie_word_embeddings"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_jina_bert,
};

}  // namespace attend
