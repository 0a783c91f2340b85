// DeBERTa v2 and v3: He et al. 2020, arXiv:2006.03654, and 2021, arXiv:2111.09543: separate attention to
// content and to relative position. Checkpoints: microsoft/deberta-v2-*, microsoft/deberta-v3-*,
// microsoft/mdeberta-v3-base.
#include "base/error.h"
#include "models/families/bert_encoder.h"
#include "models/families/deberta_attention.h"

namespace attend {
namespace {

constexpr BertRelative deberta_v2_relative = {.vocabulary = 128100,
                                              .width = 1536,
                                              .layers = 24,
                                              .heads = 24,
                                              .inner = 6144,
                                              .types = 0,
                                              .norm_epsilon = 1e-7};

ModelSpec deberta_v2_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  model.encoder = bert_encoder(config, deberta_v2_relative);
  StackSpec& encoder = *model.encoder;
  disentangle(config, encoder);
  const std::int64_t buckets = config.integer({"position_buckets"}, -1, -1, 1 << 20);
  if (auto* distances = std::get_if<LearnedDistances>(&encoder.distances); distances && buckets > 0) {
    distances->max_distance = distances->span;
    distances->span = buckets;
  }
  if (config.flag({"share_att_key"}, false))
    for (LayerSpec& layer : encoder.layers)
      if (layer.self_attention.distance) layer.self_attention.distance->own_matrices = false;
  if (const std::int64_t kernel = config.integer({"conv_kernel_size"}, 0, 0, 1 << 10); kernel > 0)
    encoder.convolution = ConvolutionSpec{.kernel = kernel,
                                          .groups = config.integer({"conv_groups"}, 1),
                                          .activation = read_activation(config, {"conv_act"}, "tanh"),
                                          .norm = encoder.layers.front().norm,
                                          .dropout = encoder.embeddings.dropout};
  add_deberta_head(config, architecture, model);
  return model;
}

std::vector<WeightName> deberta_v2_weights(const ModelSpec& model) {
  const std::string layer = "deberta.encoder.layer.{i}.", ours = "encoder.layers.{i}.";
  std::vector<WeightName> table = deberta_weights(model);
  table.push_back({layer + "attention.self.{query_proj|key_proj|value_proj}.{weight|bias}",
                   ours + "self_attention.query_key_value.{weight|bias}"});
  table.push_back({layer + "attention.self.pos_key_proj.{weight|bias}",
                   ours + "self_attention.distance_key.{weight|bias}"});
  table.push_back({layer + "attention.self.pos_query_proj.{weight|bias}",
                   ours + "self_attention.distance_query.{weight|bias}"});
  table.push_back({"deberta.encoder.conv.conv.{weight|bias}", "encoder.convolution.{weight|bias}"});
  table.push_back({"deberta.encoder.conv.LayerNorm.{weight|bias}", "encoder.convolution.norm.{weight|bias}"});
  return table;
}

Json fresh_deberta_v2(std::string_view preset) {
  BertRelative base = deberta_v2_relative;
  base.width = 768, base.layers = 12, base.heads = 12, base.inner = 3072;
  Json config = fresh_bert_config("deberta-v2", "DebertaV2ForMaskedLM", sized(base, preset));
  config.update({{"relative_attention", true},
                 {"position_buckets", 256},
                 {"norm_rel_ebd", "layer_norm"},
                 {"share_att_key", true},
                 {"pos_att_type", {"p2c", "c2p"}},
                 {"max_relative_positions", -1},
                 {"position_biased_input", false},
                 {"legacy", true}});
  return config;
}

}  // namespace

extern const Family deberta_v2;
const Family deberta_v2 = {
    .model_type = "deberta-v2",
    .prefix = "deberta",
    .architectures = {"DebertaV2Model", "DebertaV2ForMaskedLM", "DebertaV2ForSequenceClassification",
                      "DebertaV2ForTokenClassification", "DebertaV2ForQuestionAnswering",
                      "DebertaV2ForMultipleChoice"},
    .spec = deberta_v2_spec,
    .weights = deberta_v2_weights,
    .ignored = deberta_ignored(),
    .optional_fields = bert_optional_fields(),
    .presets = {"v3-base", "tiny"},
    .fresh_config = fresh_deberta_v2,
};

}  // namespace attend
