// Transformer-XL: Dai et al. 2019, arXiv:1901.02860. Checkpoint: transfo-xl/transfo-xl-wt103.
#include "base/error.h"
#include "models/families/family.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

// tie_projs: which clusters' scores use the embeddings' matrix. Clusters without an entry have their own
// matrix.
std::vector<bool> read_own_projections(const Fields& config, std::size_t clusters) {
  std::vector<bool> own(clusters, true);
  const auto field = config.json().find("tie_projs");
  if (field == config.json().end() || field->is_null()) {  // as in older files
    const bool shared = config.flag({"proj_share_all_but_first"}, true);
    for (std::size_t i = 1; i < clusters; ++i) own[i] = !shared;
    return own;
  }
  const auto is_flag = [](const Json& value) { return value.is_boolean(); };
  if (!field->is_array() || !std::ranges::all_of(*field, is_flag))
    fail("{}: tie_projs: expected a list of true and false, found {}", config.source(), shown(*field));
  for (std::size_t i = 0; i < std::min(clusters, field->size()); ++i) own[i] = !(*field)[i].get<bool>();
  return own;
}

ClusterSpec read_clusters(const Fields& config, std::int64_t vocabulary) {
  ClusterSpec clusters{.ends = {}, .divisor = config.integer({"div_val"}, 4, 1, 1 << 10)};
  const std::vector<std::int64_t> usual{20000, 40000, 200000};
  for (const std::int64_t end : config.has({"cutoffs"}) ? config.integers({"cutoffs"}) : usual) {
    const std::int64_t last = clusters.ends.empty() ? 0 : clusters.ends.back();
    if (end <= last || end >= vocabulary)
      fail("{}: cutoffs: expected rising numbers between 0 and vocab_size ({}), found {}", config.source(),
           vocabulary, end);
    clusters.ends.push_back(end);
  }
  clusters.ends.push_back(vocabulary);
  clusters.own_projections = read_own_projections(config, clusters.ends.size());
  return clusters;
}

StackSpec read_transfo_xl_stack(const Fields& config) {
  const std::int64_t width = config.integer({"d_model", "hidden_size"}, 1024);
  const std::int64_t vocabulary = config.integer({"vocab_size"}, 267735);
  const std::int64_t memory = config.integer({"mem_len"}, 1600, 0, 1 << 24);
  const bool same_length = config.flag({"same_length"}, true);
  if (same_length && memory == 0)
    fail("{}: same_length needs a mem_len, which is the number of keys that every token sees",
         config.source());
  const NormSpec norm{config.number({"layer_norm_epsilon"}, 1e-5, 0, 1)};
  const double dropout = read_dropout(config, {"dropout"}, 0.1);
  const std::int64_t head_size = config.integer({"d_head"}, 64);
  const bool shared_biases = !config.flag({"untie_r"}, true);
  const LayerSpec layer = {
      .order = config.flag({"pre_lnorm"}, false) ? NormOrder::pre : NormOrder::post,
      .norm = norm,
      .self_attention = {.heads = config.integer({"n_head", "num_attention_heads"}, 16),
                         .head_size = head_size,
                         .scale = 1 / std::sqrt(static_cast<double>(head_size)),
                         .causal = true,
                         .window = same_length ? memory : 0,
                         .distance = DistanceTerms{.biases = !shared_biases, .dropout = dropout},
                         .blocks = {},
                         .empty_keys = memory,
                         .input_bias = false,
                         .output_bias = false,
                         .dropout = read_dropout(config, {"dropatt"}, 0)},
      .cross_attention = {},
      .feed_forward = {.width = config.integer({"d_inner"}, 4096),
                       .activation = Activation::relu,
                       .dropout = dropout},
      .attention_result_dropout = dropout,
      .feed_forward_result_dropout = dropout,
  };
  return {
      .embeddings = {.vocabulary = vocabulary,
                     .width = config.integer({"d_embed"}, 1024),
                     .scale = std::sqrt(static_cast<double>(width)),
                     .positions = {},
                     .norm = {},
                     .dropout = dropout,
                     .clusters = read_clusters(config, vocabulary),
                     .projected_width = width},
      .layers = std::vector<LayerSpec>(config.integer({"n_layer", "num_hidden_layers"}, 18, 1, 10000), layer),
      .final_norm = {},
      .final_dropout = dropout,
      .distances = SinusoidalDistances{.clamp = std::max<std::int64_t>(
                                           0, config.integer({"clamp_len"}, 1000, -1, 1 << 30)),
                                       .biases = shared_biases},
      .convolution = {},
      .weights_of = {},
      .memory = memory > 0 ? std::optional(memory) : std::nullopt,
  };
}

ModelSpec transfo_xl_spec(const Fields& config, std::string_view architecture) {
  if (config.integer({"attn_type"}, 0, 0, 10) != 0)
    fail("{}: attn_type: the original supports only 0", config.source());
  ModelSpec model;
  model.decoder = read_transfo_xl_stack(config);
  const EmbeddingSpec& embeddings = model.decoder->embeddings;
  if (architecture == "TransfoXLForSequenceClassification") {
    if (embeddings.width != embeddings.projected_width)
      fail("{}: d_embed: sequence classification needs d_embed to equal d_model", config.source());
    model.score_head = read_score_head(config, architecture,
                                       {.input = HeadInput::before_token,
                                        .dense = {},
                                        .bias = false,
                                        .token_id = config.maybe_integer({"pad_token_id"}, -1),
                                        .problem = {}});
  }
  if (architecture == "TransfoXLLMHeadModel") {
    model.language_model_head = LanguageModelHeadSpec{.transform = {},
                                                      .untied = !config.flag({"tie_word_embeddings"}, true),
                                                      .clusters = embeddings.clusters,
                                                      .quirks = {.output = "prediction_scores"}};
  }
  model.initialization = {.range = config.number({"init_std"}, 0.02, 0, 10),
                          .projections = config.number({"proj_init_std"}, 0.01, 0, 10),
                          .norms_vary = true};
  return model;
}

std::vector<WeightName> transfo_xl_weights(const ModelSpec& model) {
  const AttentionSpec& attention = model.decoder->layers.front().self_attention;
  const std::string layer = "transformer.layers.{i}.", ours = "decoder.layers.{i}.";
  const std::string theirs = layer + "dec_attn.", self = ours + "self_attention.";
  const std::vector<std::int64_t> heads{attention.heads, attention.head_size};
  return {
      // checkpoint, ours
      {.checkpoint = "transformer.word_emb.emb_layers.{i}.weight",
       .ours = "decoder.embeddings.clusters.table-{i}",
       .aliases = {"crit.out_layers.{i}.weight"}},
      {.checkpoint = "transformer.word_emb.emb_projs.{i}",
       .ours = "decoder.embeddings.clusters.projection-{i}"},
      {theirs + "qkv_net.weight", self + "query_key_value.weight"},
      {theirs + "r_net.weight", self + "distance_key.weight"},
      {theirs + "o_net.weight", self + "output.weight"},
      {.checkpoint = "transformer.r_w_bias",
       .ours = "decoder.distances.content_bias",
       .aliases = {"transformer.layers.0.dec_attn.r_w_bias"},
       .shape = heads},
      {.checkpoint = "transformer.r_r_bias",
       .ours = "decoder.distances.distance_bias",
       .aliases = {"transformer.layers.0.dec_attn.r_r_bias"},
       .shape = heads},
      {.checkpoint = theirs + "r_w_bias", .ours = self + "content_bias", .shape = heads},
      {.checkpoint = theirs + "r_r_bias", .ours = self + "distance_bias", .shape = heads},
      {theirs + "layer_norm.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {layer + "pos_ff.CoreNet.0.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {layer + "pos_ff.CoreNet.3.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {layer + "pos_ff.layer_norm.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {.checkpoint = "transformer.pos_emb.inv_freq", .ours = "decoder.distances.frequencies", .frozen = true},
      {"crit.out_layers.{i}.weight", "language_model_head.clusters.table-{i}"},
      {"crit.out_layers.{i}.bias", "language_model_head.clusters.bias-{i}"},
      {"crit.out_projs.{i}", "language_model_head.clusters.projection-{i}"},
      {"crit.cluster_weight", "language_model_head.clusters.cluster_weight"},
      {"crit.cluster_bias", "language_model_head.clusters.cluster_bias"},
      {"score.weight", "score_head.out.weight"},
  };
}

// wt103: the paper's large model; tiny: one cluster, for subword vocabularies.
Json fresh_transfo_xl(std::string_view preset) {
  Json config = {{"model_type", "transfo-xl"},
                 {"architectures", {"TransfoXLLMHeadModel"}},
                 {"vocab_size", 267735},
                 {"cutoffs", {20000, 40000, 200000}},
                 {"d_model", 1024},
                 {"d_embed", 1024},
                 {"n_head", 16},
                 {"d_head", 64},
                 {"d_inner", 4096},
                 {"div_val", 4},
                 {"n_layer", 18},
                 {"mem_len", 1600},
                 {"clamp_len", 1000},
                 {"same_length", true},
                 {"dropout", 0.1},
                 {"dropatt", 0.0},
                 {"init_std", 0.02},
                 {"layer_norm_epsilon", 1e-5},
                 {"eos_token_id", 0}};
  if (preset == "tiny")
    config.update({{"vocab_size", 32000},
                   {"cutoffs", Json::array()},
                   {"d_model", 256},
                   {"d_embed", 256},
                   {"n_head", 4},
                   {"d_inner", 1024},
                   {"div_val", 1},
                   {"n_layer", 4},
                   {"mem_len", 128},
                   {"clamp_len", 256}});
  return config;
}

}  // namespace

extern const Family transfo_xl;
const Family transfo_xl = {
    .model_type = "transfo-xl",
    .prefix = "transformer",
    .architectures = {"TransfoXLLMHeadModel", "TransfoXLModel", "TransfoXLForSequenceClassification"},
    .spec = transfo_xl_spec,
    .weights = transfo_xl_weights,
    .ignored = {"crit.{out_projs|cluster_weight|cluster_bias}", "crit.out_projs.{i}",
                "crit.out_layers.{i}.{weight|bias}"},
    .optional_fields = {"tie_word_embeddings", "num_labels", "id2label", "label2id", "problem_type",
                        "pad_token_id"},
    .presets = {"wt103", "tiny"},
    .fresh_config = fresh_transfo_xl,
};

}  // namespace attend
