// BERT: Devlin et al. 2018, arXiv:1810.04805.
// Checkpoints: google-bert/*, sentence-transformers/all-MiniLM-L6-v2 (Wang et al. 2020, arXiv:2002.10957).
#include "base/error.h"
#include "models/family.h"

#include <cmath>

namespace attend {
namespace {

ModelSpec spec(const Fields& config, std::string_view architecture) {
  if (config.text({"position_embedding_type"}, "absolute") != "absolute")
    fail("{}: position_embedding_type: only \"absolute\" is supported", config.source());
  if (config.flag({"is_decoder"}, false)) fail("{}: is_decoder: only false is supported", config.source());

  const std::int64_t width = config.integer({"hidden_size"}, 768);
  const std::int64_t heads = config.integer({"num_attention_heads"}, 12);
  const std::int64_t head_size = read_head_size(config, width, heads);
  const NormSpec norm{config.number({"layer_norm_eps"}, 1e-12, 0, 1)};
  const double dropout = read_dropout(config, {"hidden_dropout_prob"}, 0.1);
  const Activation activation = read_activation(config, {"hidden_act"}, "gelu");

  const LayerSpec layer = {
      .order = NormOrder::post,
      .norm = norm,
      .self_attention = {.heads = heads,
                         .head_size = head_size,
                         .scale = 1 / std::sqrt(static_cast<double>(head_size)),
                         .dropout = read_dropout(config, {"attention_probs_dropout_prob"}, 0.1)},
      .cross_attention = {},
      .feed_forward = {.width = config.integer({"intermediate_size"}, 3072), .activation = activation},
      .dropout = dropout,
  };
  ModelSpec model;
  model.encoder = StackSpec{
      .embeddings = {.vocabulary = config.integer({"vocab_size"}, 30522),
                     .width = width,
                     .positions = LearnedPositions{config.integer({"max_position_embeddings"}, 512)},
                     .types = config.integer({"type_vocab_size"}, 2),
                     .padding_id = config.integer({"pad_token_id"}, 0, -1),
                     .norm = norm,
                     .dropout = dropout},
      .layers = std::vector<LayerSpec>(config.integer({"num_hidden_layers"}, 12, 1, 10000), layer),
      .final_norm = {},
  };
  model.pooler = architecture != "BertForMaskedLM";
  if (architecture == "BertForMaskedLM")
    model.head = LanguageModelHeadSpec{.transform = LanguageModelHeadSpec::Transform{activation, norm},
                                       .bias = true,
                                       .untied = !config.flag({"tie_word_embeddings"}, true)};
  else if (architecture == "BertForSequenceClassification")
    model.head = read_classification_head(config, read_dropout(config, {"classifier_dropout"}, dropout));
  model.initializer_range = config.number({"initializer_range"}, 0.02, 0, 10);
  return model;
}

std::vector<WeightName> weights(const ModelSpec&) {
  return {
      // checkpoint, ours
      {"bert.embeddings.word_embeddings.weight", "encoder.embeddings.tokens"},
      {"bert.embeddings.position_embeddings.weight", "encoder.embeddings.positions"},
      {"bert.embeddings.token_type_embeddings.weight", "encoder.embeddings.types"},
      {"bert.embeddings.LayerNorm.{weight|bias}", "encoder.embeddings.norm.{weight|bias}"},
      {"bert.encoder.layer.{i}.attention.self.{query|key|value}.{weight|bias}",
       "encoder.layers.{i}.self_attention.query_key_value.{weight|bias}"},
      {"bert.encoder.layer.{i}.attention.output.dense.{weight|bias}",
       "encoder.layers.{i}.self_attention.output.{weight|bias}"},
      {"bert.encoder.layer.{i}.attention.output.LayerNorm.{weight|bias}",
       "encoder.layers.{i}.self_attention_norm.{weight|bias}"},
      {"bert.encoder.layer.{i}.intermediate.dense.{weight|bias}",
       "encoder.layers.{i}.feed_forward.in.{weight|bias}"},
      {"bert.encoder.layer.{i}.output.dense.{weight|bias}",
       "encoder.layers.{i}.feed_forward.out.{weight|bias}"},
      {"bert.encoder.layer.{i}.output.LayerNorm.{weight|bias}",
       "encoder.layers.{i}.feed_forward_norm.{weight|bias}"},
      {"bert.pooler.dense.{weight|bias}", "pooler.dense.{weight|bias}"},
      {"cls.predictions.transform.dense.{weight|bias}", "head.dense.{weight|bias}"},
      {"cls.predictions.transform.LayerNorm.{weight|bias}", "head.norm.{weight|bias}"},
      {.checkpoint = "cls.predictions.bias",
       .ours = "head.bias",
       .aliases = {"cls.predictions.decoder.bias"}},
      {"cls.predictions.decoder.weight", "head.weight"},
      {"classifier.{weight|bias}", "classifier.{weight|bias}"},
  };
}

Json fresh_config(std::string_view preset) {
  if (!preset.empty() && preset != "base") fail("bert has no preset \"{}\"; it has: base", preset);
  return {{"model_type", "bert"},
          {"architectures", {"BertForMaskedLM"}},
          {"vocab_size", 30522},
          {"hidden_size", 768},
          {"num_hidden_layers", 12},
          {"num_attention_heads", 12},
          {"intermediate_size", 3072},
          {"hidden_act", "gelu"},
          {"hidden_dropout_prob", 0.1},
          {"attention_probs_dropout_prob", 0.1},
          {"max_position_embeddings", 512},
          {"type_vocab_size", 2},
          {"initializer_range", 0.02},
          {"layer_norm_eps", 1e-12},
          {"pad_token_id", 0}};
}

}  // namespace

extern const Family bert;
const Family bert = {
    .model_type = "bert",
    .prefix = "bert",
    .architectures = {"BertModel", "BertForMaskedLM", "BertForSequenceClassification"},
    .spec = spec,
    .weights = weights,
    .ignored = {"bert.embeddings.position_ids", "cls.seq_relationship.{weight|bias}"},
    .optional_fields = {"num_labels", "id2label", "label2id", "problem_type", "classifier_dropout",
                        "tie_word_embeddings"},
    .fresh_config = fresh_config,
};

}  // namespace attend
