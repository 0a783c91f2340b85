// T5: Raffel et al. 2019, arXiv:1910.10683; v1.1 and Flan with a gated feed-forward layer and an untied head.
// Checkpoints: google-t5/t5-*, google/t5-v1_1-*, google/flan-t5-*.
#include "models/families/t5.h"

#include "base/error.h"
#include "models/families/encoder_decoder.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

struct FeedForwardKind {
  bool gated;
  Activation activation;
};

// "relu", "gated-silu"... In "gated-gelu", GELU is the tanh approximation.
FeedForwardKind read_feed_forward(const Fields& config, const T5Relative& relative) {
  const std::string kind = config.text({"feed_forward_proj"}, std::string(relative.feed_forward));
  if (kind == "gated-gelu") return {true, Activation::gelu_tanh};
  constexpr std::string_view gated = "gated-";
  const bool is_gated = kind.starts_with(gated);
  const Fields name(Json{{"feed_forward_proj", is_gated ? kind.substr(gated.size()) : kind}},
                    config.source());
  return {is_gated, read_activation(name, {"feed_forward_proj"}, "relu")};
}

StackSpec read_t5_stack(const Fields& config, const T5Relative& relative, bool decoder) {
  check_untied(config);
  const std::int64_t width = config.integer({"d_model", "hidden_size"}, 512);
  const NormSpec norm{config.number({"layer_norm_epsilon"}, 1e-6, 0, 1), /*root_mean_square=*/true};
  const double dropout = read_dropout(config, {"dropout_rate"}, 0.1);
  const FeedForwardKind feed_forward = read_feed_forward(config, relative);
  // Scores are not scaled: the initialization takes care of that.
  const AttentionSpec attention = {.heads = config.integer({"num_heads"}, relative.heads),
                                   .head_size = config.integer({"d_kv"}, 64),
                                   .scale = 1,
                                   .causal = decoder,
                                   .distance = {},
                                   .quirks = {.padding_sees_all = decoder},
                                   .input_bias = false,
                                   .output_bias = false,
                                   .dropout = dropout};
  AttentionSpec cross = attention;
  cross.causal = false;
  const LayerSpec layer = {
      .order = NormOrder::pre,
      .norm = norm,
      .self_attention = attention,
      .cross_attention = decoder ? std::optional(cross) : std::nullopt,
      .feed_forward = {.width = config.integer({"d_ff"}, relative.inner),
                       .activation = feed_forward.activation,
                       .gated = feed_forward.gated,
                       .bias = false,
                       .dropout = dropout},
      .attention_result_dropout = dropout,
      .feed_forward_result_dropout = dropout,
  };
  const std::int64_t layers = config.integer({"num_layers"}, relative.layers, 1, 10000);
  const std::int64_t buckets = config.integer({"relative_attention_num_buckets"}, 32, 4, 1 << 20);
  return {
      .embeddings = {.vocabulary = config.integer({"vocab_size"}, relative.vocabulary),
                     .width = width,
                     .positions = {},
                     .norm = {},
                     .dropout = dropout},
      .layers = std::vector<LayerSpec>(
          decoder ? config.integer({"num_decoder_layers"}, layers, 1, 10000) : layers, layer),
      .final_norm = norm,
      .final_dropout = dropout,
      .distances = BucketedBias{.buckets = buckets,
                                .max_distance = config.integer({"relative_attention_max_distance"}, 128,
                                                               buckets / 2 + 1, 1 << 30),
                                .per_layer = relative.layer_distances},
      .weights_of = {},
  };
}

}  // namespace

ModelSpec t5_model(const Fields& config, std::string_view architecture, const T5Relative& relative) {
  ModelSpec model;
  model.encoder = read_t5_stack(config, relative, /*decoder=*/false);
  if (!architecture.ends_with("EncoderModel") && !architecture.ends_with("ForTokenClassification"))
    model.decoder = read_t5_stack(config, relative, /*decoder=*/true);
  if (architecture.ends_with("ForConditionalGeneration")) {
    const bool tied = config.flag({"tie_word_embeddings"}, relative.tied);
    const auto width = static_cast<double>(model.encoder->width());
    model.language_model_head =
        LanguageModelHeadSpec{.transform = {}, .untied = !tied, .scale = tied ? 1 / std::sqrt(width) : 1};
  }
  // A sentence is scored at the decoder's end token, after it has read the whole text.
  const double dropout = read_dropout(config, {"classifier_dropout"}, 0);
  model.score_head = read_score_head(config, architecture,
                                     {.input = HeadInput::end_token,
                                      .dense = Activation::tanh,
                                      .token_id = config.integer({"eos_token_id"}, 1, 0),
                                      .problem = {},
                                      .dense_dropout = dropout,
                                      .dropout = dropout});
  model.initialization = {.kind = InitializationSpec::Kind::fan_in,
                          .range = config.number({"initializer_factor"}, 1, 0, 10)};
  return model;
}

std::vector<WeightName> t5_weights(const ModelSpec& model) {
  // Two heads are next to the body "transformer"; with the others the body has no prefix.
  const bool beside = model.score_head && model.score_head->kind != ScoreKind::question_answering;
  const std::string body = beside ? "transformer." : "";
  const std::string encoder = body + "encoder.block.{i}.layer.", decoder = body + "decoder.block.{i}.layer.";
  const bool gated = model.encoder->layers.front().feed_forward.gated;
  std::vector<WeightName> table = {
      // checkpoint, ours
      {decoder + "1.EncDecAttention.q.weight", "decoder.layers.{i}.cross_attention.query.weight"},
      {decoder + "1.EncDecAttention.{k|v}.weight", "decoder.layers.{i}.cross_attention.key_value.weight"},
      {decoder + "1.EncDecAttention.o.weight", "decoder.layers.{i}.cross_attention.output.weight"},
      {decoder + "1.layer_norm.weight", "decoder.layers.{i}.cross_attention_norm.weight"},
      {"lm_head.weight", "language_model_head.weight"},
      {"classification_head.dense.{weight|bias}", "score_head.dense.{weight|bias}"},
  };
  if (model.share_embeddings)
    table.push_back(
        {.checkpoint = body + "shared.weight",
         .ours = "encoder.embeddings.tokens",
         .aliases = {body + "encoder.embed_tokens.weight", body + "decoder.embed_tokens.weight"}});
  else
    table.push_back({body + "{encoder|decoder}.embed_tokens.weight", "{encoder|decoder}.embeddings.tokens"});
  if (model.score_head && model.score_head->dense)
    table.push_back({"classification_head.out_proj.{weight|bias}", "score_head.out.{weight|bias}"});
  else
    table.push_back(score_weights(model));
  for (const auto& [theirs, ours, last] :
       {std::tuple{encoder, std::string("encoder"), "1"}, std::tuple{decoder, std::string("decoder"), "2"}}) {
    const std::string layer = ours + ".layers.{i}.";
    const std::string distances = ".layer.0.SelfAttention.relative_attention_bias.weight";
    table.push_back({body + ours + ".block.0" + distances, ours + ".distances.table"});
    table.push_back({body + ours + ".block.{i}" + distances, ours + ".layer_distances.{i}.table"});
    table.push_back(
        {theirs + "0.SelfAttention.{q|k|v}.weight", layer + "self_attention.query_key_value.weight"});
    table.push_back({theirs + "0.SelfAttention.o.weight", layer + "self_attention.output.weight"});
    table.push_back({theirs + "0.layer_norm.weight", layer + "self_attention_norm.weight"});
    table.push_back(
        {theirs + last + (gated ? ".DenseReluDense.{wi_0|wi_1}.weight" : ".DenseReluDense.wi.weight"),
         layer + "feed_forward.in.weight"});
    table.push_back({theirs + last + ".DenseReluDense.wo.weight", layer + "feed_forward.out.weight"});
    table.push_back({theirs + last + ".layer_norm.weight", layer + "feed_forward_norm.weight"});
    table.push_back({body + ours + ".final_layer_norm.weight", ours + ".final_norm.weight"});
  }
  return table;
}

Json fresh_t5(std::string_view preset) {
  struct Size {
    std::string_view name;
    int width, inner, heads, layers;
  };
  static constexpr Size sizes[] = {
      {"small", 512, 2048, 8, 6}, {"base", 768, 3072, 12, 12}, {"tiny", 256, 1024, 4, 3}};
  const Size& size = *std::ranges::find(sizes, preset, &Size::name);
  return {{"model_type", "t5"},
          {"architectures", {"T5ForConditionalGeneration"}},
          {"is_encoder_decoder", true},
          {"vocab_size", 32128},
          {"d_model", size.width},
          {"d_kv", 64},
          {"d_ff", size.inner},
          {"num_layers", size.layers},
          {"num_decoder_layers", size.layers},
          {"num_heads", size.heads},
          {"relative_attention_num_buckets", 32},
          {"relative_attention_max_distance", 128},
          {"dropout_rate", 0.1},
          {"layer_norm_epsilon", 1e-6},
          {"feed_forward_proj", "relu"},
          {"tie_word_embeddings", true},
          {"pad_token_id", 0},
          {"eos_token_id", 1},
          {"decoder_start_token_id", 0}};
}

Family make_t5(std::string_view model_type, const std::vector<std::string_view>& architectures,
               ModelSpec (*spec)(const Fields&, std::string_view), Json (*fresh_config)(std::string_view)) {
  return {
      .model_type = model_type,
      .prefix = "transformer",
      .architectures = architectures,
      .spec = spec,
      .weights = t5_weights,
      // Old checkpoints contain a bias of cross-attention that is never used.
      .ignored =
          {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
           "decoder.block.{i}.layer.{0|1|2}.{SelfAttention|EncDecAttention|DenseReluDense}.{q|k|v|o|wi|"
           "wi_0|wi_1|wo}.weight",
           "decoder.block.{i}.layer.{0|1|2}.layer_norm.weight", "decoder.final_layer_norm.weight",
           "decoder.block.{i}.layer.0.SelfAttention.relative_attention_bias.weight", "lm_head.weight"},
      .optional_fields = {"classifier_dropout", "initializer_factor", "num_labels", "id2label", "label2id",
                          "problem_type"},
      .presets = {"small", "base", "tiny"},
      .fresh_config = fresh_config,
  };
}

extern const Family t5;
const Family t5 = make_t5(
    "t5",
    {"T5ForConditionalGeneration", "T5Model", "T5EncoderModel", "T5ForSequenceClassification",
     "T5ForTokenClassification", "T5ForQuestionAnswering"},
    [](const Fields& config, std::string_view architecture) -> ModelSpec {
      return t5_model(config, architecture, {});
    },
    fresh_t5);

}  // namespace attend
