#include "models/families/deberta_attention.h"

#include "base/error.h"

#include <cmath>

namespace attend {
namespace {

// pos_att_type: ["c2p", "p2c"] or "c2p|p2c".
bool looks(const Fields& config, const std::string& way) {
  const auto field = config.json().find("pos_att_type");
  if (field == config.json().end() || field->is_null()) return false;
  if (field->is_string()) return field->get<std::string>().find(way) != std::string::npos;
  for (const std::string& each : config.texts({"pos_att_type"}))
    if (each == way) return true;
  return false;
}

}  // namespace

void disentangle(const Fields& config, StackSpec& encoder) {
  if (const std::int64_t width = config.integer({"embedding_size"}, encoder.width());
      width != encoder.width()) {
    encoder.embeddings.projected_width = encoder.width();
    encoder.embeddings.projection = EmbeddingSpec::Projection::before_norm;
    encoder.embeddings.width = width;
  }
  encoder.quirks.padding_begins_as_zero = true;
  encoder.embeddings.types = config.integer({"type_vocab_size"}, 0, 0);
  if (!config.flag({"position_biased_input"}, true)) encoder.embeddings.positions = {};
  const bool content_to_position = looks(config, "c2p"), position_to_content = looks(config, "p2c");
  const bool relative = config.flag({"relative_attention"}, false);
  // Every way of attending adds to the scores, and the scale divides by the number of ways.
  const double ways = 1.0 + (content_to_position ? 1 : 0) + (position_to_content ? 1 : 0);
  for (LayerSpec& layer : encoder.layers) {
    AttentionSpec& attention = layer.self_attention;
    attention.quirks.padding_sees_all = true;
    attention.scale = 1 / std::sqrt(static_cast<double>(attention.head_size) * ways);
    if (relative)
      attention.distance = DistanceTerms{.with_query = content_to_position,
                                         .with_key = position_to_content,
                                         .key_bias = true,
                                         .dropout = layer.feed_forward_result_dropout};
  }
  if (!relative) return;
  std::int64_t span = config.integer({"max_relative_positions"}, -1, -1, 1 << 20);
  if (span < 1) span = config.integer({"max_position_embeddings"}, 512);
  LearnedDistances distances{.span = span, .norm = {}};
  if (config.text({"norm_rel_ebd"}, "none").find("layer_norm") != std::string::npos)
    distances.norm = encoder.layers.front().norm;
  encoder.distances = distances;
}

void add_deberta_head(const Fields& config, std::string_view architecture, ModelSpec& model) {
  model.quirks.other_names = !config.flag({"legacy"}, true);
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  const LayerSpec& layer = model.encoder->layers.front();
  if (architecture.ends_with("ForMaskedLM")) {
    model.language_model_head = masked_language_model(config, layer.feed_forward.activation, layer.norm);
    // The newer head always uses the embedding matrix and ignores tie_word_embeddings.
    if (model.quirks.other_names) model.language_model_head->untied = false;
    if (model.quirks.other_names && model.encoder->embeddings.projected_width > 0)
      fail("{}: embedding_size: with \"legacy\": false the head needs it to equal hidden_size",
           config.source());
  }
  model.score_head =
      read_score_head(config, architecture,
                      {.input = HeadInput::first_token,
                       .dense = read_activation(config, {"pooler_hidden_act"}, "gelu"),
                       .problem = {},
                       .dense_dropout = read_dropout(config, {"pooler_dropout"}, 0),
                       .dropout = read_dropout(config, {"cls_dropout", "hidden_dropout_prob"}, 0.1)});
}

std::vector<WeightName> deberta_weights(const ModelSpec& model) {
  // One head under two sets of names. Files with the second set often have a config that asks for the first,
  // which transformers then fills with random numbers.
  const std::string legacy = "cls.predictions.", now = "lm_predictions.lm_head.";
  const std::string legacy_transform = legacy + "transform.";
  const auto either = [&](const std::string& first, const std::string& second, const std::string& ours) {
    return model.quirks.other_names ? WeightName{.checkpoint = second, .ours = ours}
                                    : WeightName{.checkpoint = first, .ours = ours, .aliases = {second}};
  };
  std::vector<WeightName> table = bert_embedding_weights("deberta");
  const std::string layer = "deberta.encoder.layer.{i}.", ours = "encoder.layers.{i}.";
  table.insert(
      table.end(),
      {
          {"deberta.embeddings.embed_proj.weight", "encoder.embeddings.projection.weight"},
          {"deberta.encoder.rel_embeddings.weight", "encoder.distances.table"},
          {"deberta.encoder.LayerNorm.{weight|bias}", "encoder.distances.norm.{weight|bias}"},
          {layer + "attention.output.dense.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
          {layer + "attention.output.LayerNorm.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
          {layer + "intermediate.dense.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
          {layer + "output.dense.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
          {layer + "output.LayerNorm.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
          either(legacy_transform + "dense.{weight|bias}", now + "dense.{weight|bias}",
                 "language_model_head.dense.{weight|bias}"),
          either(legacy_transform + "LayerNorm.{weight|bias}", now + "LayerNorm.{weight|bias}",
                 "language_model_head.norm.{weight|bias}"),
          either(legacy + "bias", now + "bias", "language_model_head.bias"),
          {legacy + "decoder.weight", "language_model_head.weight"},
          {"pooler.dense.{weight|bias}", "score_head.dense.{weight|bias}"},
          score_weights(model),
      });
  return table;
}

std::vector<std::string_view> deberta_ignored() {
  return {"deberta.embeddings.position_ids",
          "deberta.embeddings.position_embeddings.weight",
          "pooler.dense.{weight|bias}",
          "mask_predictions.{dense|LayerNorm|classifier}.{weight|bias}",
          "cls.predictions.transform.{dense|LayerNorm}.{weight|bias}",
          "cls.predictions.{bias|decoder.weight|decoder.bias}",
          "lm_predictions.lm_head.bias",
          "lm_predictions.lm_head.{dense|LayerNorm}.{weight|bias}"};
}

}  // namespace attend
