#include "models/families/bert_encoder.h"

#include "base/error.h"

namespace attend {
namespace {

PositionSpec read_positions(const Fields& config, const BertRelative& relative) {
  const std::int64_t rows = config.integer({"max_position_embeddings"}, 512);
  if (!relative.positions_after_padding) return LearnedPositions{.count = rows};
  const std::int64_t padding = config.integer({"pad_token_id"}, relative.padding_id, 0);
  if (rows <= padding + 1)
    fail("{}: max_position_embeddings: expected more than pad_token_id + 1, found {}", config.source(), rows);
  return LearnedPositions{.count = rows - padding - 1, .offset = padding + 1, .skipped_id = padding};
}

// position_embedding_type: vectors for distances instead of positions; queries use them, or also keys.
void read_distances(const Fields& config, StackSpec& stack) {
  const std::string kind = config.text({"position_embedding_type"}, "absolute");
  if (kind == "absolute") return;
  if (kind != "relative_key" && kind != "relative_key_query")
    fail("{}: position_embedding_type: expected absolute, relative_key or relative_key_query, found {}",
         config.source(), shown(Json(kind)));
  const std::int64_t count = config.integer({"max_position_embeddings"}, 512);
  stack.embeddings.positions = DistantPositions{count};
  stack.distances = HeadDistances{count};
  for (LayerSpec& layer : stack.layers)
    layer.self_attention.distance =
        DistanceTerms{.with_key = kind == "relative_key_query", .own_vectors = 2 * count - 1};
}

std::optional<AttentionSpec> read_cross_attention(const Fields& config, AttentionSpec attention) {
  if (!config.flag({"add_cross_attention"}, false)) return {};
  if (!attention.causal)
    fail("{}: add_cross_attention: only a decoder can read an encoder, but is_decoder is false",
         config.source());
  attention.causal = false;
  return attention;
}

}  // namespace

StackSpec bert_encoder(const Fields& config, const BertRelative& relative) {
  const bool decoder = config.flag({"is_decoder"}, false);
  if (decoder && !relative.decodes) fail("{}: is_decoder: only false is supported", config.source());
  if (config.flag({"add_cross_attention"}, false) && !relative.decodes)
    fail("{}: add_cross_attention: only false is supported", config.source());
  const std::int64_t width = config.integer({"hidden_size", "dim"}, relative.width);
  AttentionSpec attention = read_attention(config, {"num_attention_heads", "n_heads"}, relative.heads, width);
  attention.causal = attention.quirks.padding_sees_all = decoder;
  attention.dropout =
      read_dropout(config, {"attention_probs_dropout_prob", "attention_dropout"}, relative.dropout);
  const NormSpec norm{config.number({"layer_norm_eps"}, relative.norm_epsilon, 0, 1)};
  const double dropout = read_dropout(config, {"hidden_dropout_prob", "dropout"}, relative.dropout);
  const LayerSpec layer = {
      .order = relative.order,
      .norm = norm,
      .self_attention = attention,
      .cross_attention = read_cross_attention(config, attention),
      .feed_forward = {.width = config.integer({"intermediate_size", "hidden_dim"}, relative.inner),
                       .activation =
                           read_activation(config, {"hidden_act", "activation"}, relative.activation)},
      .attention_result_dropout = dropout,
      .feed_forward_result_dropout = dropout,
  };
  const std::int64_t vocabulary = config.integer({"vocab_size"}, relative.vocabulary);
  const std::int64_t narrow = relative.embedding_size ? config.integer({"embedding_size"}, 128) : width;
  StackSpec stack = {
      .embeddings = {.vocabulary = vocabulary,
                     .width = narrow,
                     .positions = read_positions(config, relative),
                     .types = relative.types > 0 ? config.integer({"type_vocab_size"}, relative.types) : 0,
                     .padding_id = config.integer({"pad_token_id"}, relative.padding_id, -1, vocabulary - 1),
                     .norm = relative.embedding_norm ? std::optional(norm) : std::nullopt,
                     .dropout = dropout,
                     .projected_width = narrow == width ? 0 : width},
      .layers = std::vector<LayerSpec>(
          config.integer({"num_hidden_layers", "n_layers"}, relative.layers, 1, 10000), layer),
      .final_norm = relative.order == NormOrder::pre ? std::optional(norm) : std::nullopt,
      .weights_of = {},
  };
  if (relative.distances) read_distances(config, stack);
  return stack;
}

bool is_causal_language_model(std::string_view architecture) {
  return architecture.ends_with("LMHeadModel") || architecture.ends_with("ForCausalLM");
}

StackSpec& put_bert_stack(ModelSpec& model, const Fields& config, std::string_view architecture,
                          const BertRelative& relative) {
  std::optional<StackSpec>& stack = is_causal_language_model(architecture) ? model.decoder : model.encoder;
  return stack.emplace(bert_encoder(config, relative));
}

LanguageModelHeadSpec masked_language_model(const Fields& config, Activation activation,
                                            const NormSpec& norm) {
  return {.transform = LanguageModelHeadSpec::Transform{activation, norm},
          .bias = true,
          .untied = !config.flag({"tie_word_embeddings"}, true)};
}

std::vector<WeightName> bert_embedding_weights(const std::string& prefix) {
  return {
      // checkpoint, ours
      {prefix + ".embeddings.word_embeddings.weight", "{encoder|decoder}.embeddings.tokens"},
      {prefix + ".embeddings.position_embeddings.weight", "{encoder|decoder}.embeddings.positions"},
      {prefix + ".embeddings.token_type_embeddings.weight", "{encoder|decoder}.embeddings.types"},
      {prefix + ".embeddings.LayerNorm.{weight|bias}", "{encoder|decoder}.embeddings.norm.{weight|bias}"},
  };
}

std::vector<WeightName> bert_layer_weights(const std::string& prefix, const BertNormNames& norms) {
  const std::string layer = prefix + ".encoder.layer.{i}.", ours = "{encoder|decoder}.layers.{i}.";
  const std::string cross = layer + "crossattention.";
  std::vector<WeightName> table = {
      {layer + "attention.self.distance_embedding.weight", ours + "self_attention.distance_vectors"},
      {cross + "self.query.{weight|bias}", ours + "cross_attention.query.{weight|bias}"},
      {cross + "self.{key|value}.{weight|bias}", ours + "cross_attention.key_value.{weight|bias}"},
      {cross + "output.dense.{weight|bias}", ours + "cross_attention.output.{weight|bias}"},
      {layer + norms.cross_attention + ".{weight|bias}", ours + "cross_attention_norm.{weight|bias}"},
      {layer + "attention.self.{query|key|value}.{weight|bias}",
       ours + "self_attention.query_key_value.{weight|bias}"},
      {layer + "attention.output.dense.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {layer + norms.attention + ".{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {layer + "intermediate.dense.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {layer + "output.dense.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {layer + norms.feed_forward + ".{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {prefix + ".pooler.dense.{weight|bias}", "pooler.dense.{weight|bias}"},
  };
  if (!norms.last.empty())
    table.push_back({norms.last + ".{weight|bias}", "{encoder|decoder}.final_norm.{weight|bias}"});
  return table;
}

std::vector<WeightName> bert_prediction_weights() {
  return {
      {"cls.predictions.transform.dense.{weight|bias}", "language_model_head.dense.{weight|bias}"},
      {"cls.predictions.transform.LayerNorm.{weight|bias}", "language_model_head.norm.{weight|bias}"},
      {.checkpoint = "cls.predictions.bias",
       .ours = "language_model_head.bias",
       .aliases = {"cls.predictions.decoder.bias"}},
      {"cls.predictions.decoder.weight", "language_model_head.weight"},
  };
}

void put_pretraining_heads(ModelSpec& model) {
  model.language_model_head->quirks.output = "prediction_logits";
  model.score_head =
      ScoreHeadSpec{.kind = ScoreKind::next_sentence,
                    .dense = {},
                    .problem = {},
                    .quirks = {.output = "seq_relationship_logits", .label_input = "next_sentence_label"}};
}

WeightName bert_score_weights(const ModelSpec& model) {
  if (model.score_head && model.score_head->kind == ScoreKind::next_sentence)
    return {"cls.seq_relationship.{weight|bias}", "score_head.out.{weight|bias}"};
  return score_weights(model);
}

BertRelative sized(BertRelative relative, std::string_view preset) {
  if (preset == "tiny") relative.width = 256, relative.layers = 4, relative.heads = 4, relative.inner = 1024;
  return relative;
}

Json fresh_bert_config(std::string_view model_type, std::string_view architecture,
                       const BertRelative& relative) {
  return {{"model_type", model_type},
          {"architectures", {architecture}},
          {"vocab_size", relative.vocabulary},
          {"hidden_size", relative.width},
          {"num_hidden_layers", relative.layers},
          {"num_attention_heads", relative.heads},
          {"intermediate_size", relative.inner},
          {"hidden_act", relative.activation},
          {"hidden_dropout_prob", relative.dropout},
          {"attention_probs_dropout_prob", relative.dropout},
          {"max_position_embeddings", relative.positions_after_padding ? 514 : 512},
          {"type_vocab_size", relative.types},
          {"initializer_range", 0.02},
          {"layer_norm_eps", relative.norm_epsilon},
          {"pad_token_id", relative.padding_id}};
}

std::vector<std::string_view> bert_optional_fields() {
  return {"is_decoder", "add_cross_attention", "position_embedding_type", "num_labels",         "id2label",
          "label2id",   "problem_type",        "classifier_dropout",      "tie_word_embeddings"};
}

}  // namespace attend
