// ALBERT: Lan et al. 2019, arXiv:1909.11942: BERT with layers that share weights, and narrow embeddings.
// Checkpoints: albert/albert-*-v{1,2}.
#include "models/families/bert_encoder.h"

#include <fmt/format.h>

namespace attend {
namespace {

constexpr BertRelative albert_relative = {.vocabulary = 30000,
                                          .width = 4096,
                                          .heads = 64,
                                          .inner = 16384,
                                          .dropout = 0,
                                          .activation = "gelu_new",
                                          .embedding_size = true,
                                          .distances = true};

// Layer i belongs to group i / (layers / groups); a group is a sequence of `inner` layers.
void share_layers(StackSpec& stack, std::int64_t groups, std::int64_t inner) {
  const auto layers = static_cast<std::int64_t>(stack.layers.size());
  stack.quirks.layers_per_state = inner;
  for (std::int64_t i = 0; i < layers; ++i)
    for (std::int64_t j = 0; j < inner; ++j) stack.weights_of.push_back(i * groups / layers * inner + j);
  stack.layers.resize(static_cast<std::size_t>(layers * inner), LayerSpec(stack.layers.front()));
}

ModelSpec albert_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  model.encoder = bert_encoder(config, albert_relative);
  // Its embeddings always have a projection, even to the same width.
  model.encoder->embeddings.projected_width = model.encoder->width();
  for (LayerSpec& each : model.encoder->layers) {
    each.feed_forward_result_dropout = 0;
    if (each.self_attention.distance) each.self_attention.distance->scaled = false;
  }
  const auto layers = static_cast<std::int64_t>(model.encoder->layers.size());
  share_layers(*model.encoder, config.integer({"num_hidden_groups"}, 1, 1, layers),
               config.integer({"inner_group_num"}, 1, 1, 1000));
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  const LayerSpec& layer = model.encoder->layers.front();
  const bool pretraining = architecture == "AlbertForPreTraining";
  const double dropout = read_dropout(config, {"classifier_dropout_prob"}, 0.1);
  if (pretraining || architecture == "AlbertForMaskedLM")
    model.language_model_head = masked_language_model(config, layer.feed_forward.activation, layer.norm);
  if (pretraining) {
    model.language_model_head->quirks.output = "prediction_logits";
    model.score_head =
        ScoreHeadSpec{.kind = ScoreKind::next_sentence,
                      .dense = {},
                      .labels = read_label_count(config),
                      .problem = {},
                      .dropout = dropout,
                      .quirks = {.output = "sop_logits", .label_input = "sentence_order_label"}};
  } else {
    model.score_head = read_score_head(
        config, architecture, {.input = HeadInput::pooled, .dense = {}, .problem = {}, .dropout = dropout});
  }
  model.pooler =
      architecture == "AlbertModel" || (model.score_head && model.score_head->input == HeadInput::pooled);
  return model;
}

std::vector<WeightName> albert_weights(const ModelSpec& model) {
  std::vector<WeightName> table = bert_embedding_weights("albert");
  table.push_back({"albert.encoder.embedding_hidden_mapping_in.{weight|bias}",
                   "encoder.embeddings.projection.{weight|bias}"});
  const std::int64_t inner = model.encoder->quirks.layers_per_state;
  for (std::int64_t i = 0; i <= model.encoder->weights_of.back(); ++i) {
    const std::string layer =
        fmt::format("albert.encoder.albert_layer_groups.{}.albert_layers.{}.", i / inner, i % inner);
    const std::string ours = fmt::format("encoder.layers.{}.", i);
    table.push_back({layer + "attention.{query|key|value}.{weight|bias}",
                     ours + "self_attention.query_key_value.{weight|bias}"});
    table.push_back(
        {layer + "attention.distance_embedding.weight", ours + "self_attention.distance_vectors"});
    table.push_back({layer + "attention.dense.{weight|bias}", ours + "self_attention.output.{weight|bias}"});
    table.push_back(
        {layer + "attention.LayerNorm.{weight|bias}", ours + "self_attention_norm.{weight|bias}"});
    table.push_back({layer + "ffn.{weight|bias}", ours + "feed_forward.in.{weight|bias}"});
    table.push_back({layer + "ffn_output.{weight|bias}", ours + "feed_forward.out.{weight|bias}"});
    table.push_back(
        {layer + "full_layer_layer_norm.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"});
  }
  table.push_back({"albert.pooler.{weight|bias}", "pooler.dense.{weight|bias}"});
  table.push_back({"predictions.dense.{weight|bias}", "language_model_head.dense.{weight|bias}"});
  table.push_back({"predictions.LayerNorm.{weight|bias}", "language_model_head.norm.{weight|bias}"});
  table.push_back({.checkpoint = "predictions.bias",
                   .ours = "language_model_head.bias",
                   .aliases = {"predictions.decoder.bias"}});
  table.push_back({"predictions.decoder.weight", "language_model_head.weight"});
  if (model.language_model_head && model.score_head)
    table.push_back({"sop_classifier.classifier.{weight|bias}", "score_head.out.{weight|bias}"});
  else
    table.push_back(score_weights(model));
  return table;
}

Json fresh_albert(std::string_view preset) {
  BertRelative base = albert_relative;
  base.width = 768, base.heads = 12, base.inner = 3072;
  Json config = fresh_bert_config("albert", "AlbertForMaskedLM", sized(base, preset));
  config.update({{"embedding_size", 128},
                 {"num_hidden_groups", 1},
                 {"inner_group_num", 1},
                 {"classifier_dropout_prob", 0.1}});
  return config;
}

}  // namespace

extern const Family albert;
const Family albert = {
    .model_type = "albert",
    .prefix = "albert",
    .architectures = {"AlbertModel", "AlbertForMaskedLM", "AlbertForPreTraining",
                      "AlbertForSequenceClassification", "AlbertForTokenClassification",
                      "AlbertForQuestionAnswering", "AlbertForMultipleChoice"},
    .spec = albert_spec,
    .weights = albert_weights,
    .ignored = {"albert.embeddings.position_ids", "albert.pooler.{weight|bias}",
                "sop_classifier.classifier.{weight|bias}", "predictions.{dense|LayerNorm}.{weight|bias}",
                "predictions.{bias|decoder.weight|decoder.bias}"},
    .optional_fields = bert_optional_fields(),
    .presets = {"base", "tiny"},
    .fresh_config = fresh_albert,
};

}  // namespace attend
