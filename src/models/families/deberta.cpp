// DeBERTa: He et al. 2020, arXiv:2006.03654. Checkpoints: microsoft/deberta-{base,large,xlarge}*.
#include "base/error.h"
#include "models/families/deberta_attention.h"

namespace attend {
namespace {

constexpr BertRelative deberta_relative = {.vocabulary = 50265, .types = 0, .norm_epsilon = 1e-7};

ModelSpec deberta_spec(const Fields& config, std::string_view architecture) {
  if (config.flag({"talking_head"}, false))
    fail("{}: talking_head: only false is supported", config.source());
  ModelSpec model;
  model.encoder = bert_encoder(config, deberta_relative);
  disentangle(config, *model.encoder);
  for (LayerSpec& layer : model.encoder->layers) {
    layer.self_attention.key_bias = false;
    if (layer.self_attention.distance) layer.self_attention.distance->key_bias = false;
  }
  add_deberta_head(config, architecture, model);
  return model;
}

std::vector<WeightName> deberta_v1_weights(const ModelSpec& model) {
  const std::string self = "deberta.encoder.layer.{i}.attention.self.",
                    ours = "encoder.layers.{i}.self_attention.";
  std::vector<WeightName> table = deberta_weights(model);
  table.push_back({.checkpoint = self + "in_proj.weight",
                   .ours = ours + "query_key_value.weight",
                   .heads = model.encoder->layers.front().self_attention.heads});
  table.push_back({self + "q_bias", ours + "query_bias"});
  table.push_back({self + "v_bias", ours + "value_bias"});
  table.push_back({self + "pos_proj.weight", ours + "distance_key.weight"});
  table.push_back({self + "pos_q_proj.{weight|bias}", ours + "distance_query.{weight|bias}"});
  return table;
}

Json fresh_deberta(std::string_view preset) {
  Json config = fresh_bert_config("deberta", "DebertaForMaskedLM", sized(deberta_relative, preset));
  config.update({{"relative_attention", true},
                 {"pos_att_type", {"c2p", "p2c"}},
                 {"max_relative_positions", -1},
                 {"position_biased_input", false},
                 {"legacy", true}});
  return config;
}

}  // namespace

extern const Family deberta;
const Family deberta = {
    .model_type = "deberta",
    .prefix = "deberta",
    .architectures = {"DebertaModel", "DebertaForMaskedLM", "DebertaForSequenceClassification",
                      "DebertaForTokenClassification", "DebertaForQuestionAnswering"},
    .spec = deberta_spec,
    .weights = deberta_v1_weights,
    .ignored = deberta_ignored(),
    .optional_fields = bert_optional_fields(),
    .presets = {"base", "tiny"},
    .fresh_config = fresh_deberta,
};

}  // namespace attend
