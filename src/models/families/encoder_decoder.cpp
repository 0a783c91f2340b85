#include "models/families/encoder_decoder.h"

#include "base/error.h"

#include <cmath>

namespace attend {

void check_untied(const Fields& config) {
  if (config.flag({"tie_encoder_decoder"}, false))
    fail("{}: tie_encoder_decoder: only false is supported, except for an encoder-decoder", config.source());
}

StackSpec read_stack(const Fields& config, const SequenceToSequenceRelative& relative, bool decoder) {
  check_untied(config);
  const std::int64_t width = config.integer({"d_model", "hidden_size"}, relative.width);
  AttentionSpec attention =
      decoder
          ? read_attention(config, {"decoder_attention_heads"}, relative.heads, width)
          : read_attention(config, {"encoder_attention_heads", "num_attention_heads"}, relative.heads, width);
  attention.causal = attention.quirks.padding_sees_all = decoder;
  attention.dropout = read_dropout(config, {"attention_dropout"}, relative.attention_dropout);
  const NormSpec norm{1e-5};
  const double dropout = read_dropout(config, {"dropout"}, 0.1);
  AttentionSpec cross = attention;
  cross.causal = false;
  const LayerSpec layer = {
      .order = relative.order,
      .norm = norm,
      .self_attention = attention,
      .cross_attention = decoder ? std::optional(cross) : std::nullopt,
      .feed_forward = {.width = decoder ? config.integer({"decoder_ffn_dim"}, relative.inner)
                                        : config.integer({"encoder_ffn_dim"}, relative.inner),
                       .activation = read_activation(config, {"activation_function"}, relative.activation),
                       .dropout = read_dropout(config, {"activation_dropout"}, 0)},
      .attention_result_dropout = dropout,
      .feed_forward_result_dropout = dropout,
  };
  const std::int64_t vocabulary = config.integer({"vocab_size"}, relative.vocabulary);
  return {
      .embeddings = {.vocabulary = decoder
                                       ? config.maybe_integer({"decoder_vocab_size"}, 1).value_or(vocabulary)
                                       : vocabulary,
                     .width = width,
                     .scale = config.flag({"scale_embedding"}, relative.scales_embeddings)
                                  ? std::sqrt(static_cast<double>(width))
                                  : 1,
                     .positions = {},
                     .padding_id = config.integer({"pad_token_id"}, relative.padding_id, -1, vocabulary - 1),
                     .norm = relative.embedding_norm ? std::optional(norm) : std::nullopt,
                     .dropout = dropout},
      .layers = std::vector<LayerSpec>(
          decoder
              ? config.integer({"decoder_layers"}, relative.decoder_layers, 1, 10000)
              : config.integer({"encoder_layers", "num_hidden_layers"}, relative.encoder_layers, 1, 10000),
          layer),
      .final_norm = relative.order == NormOrder::pre ? std::optional(norm) : std::nullopt,
      .weights_of = {},
  };
}

void put_decoder_alone(ModelSpec& model, const Fields& config, const StackSpec& decoder) {
  model.decoder = decoder;
  model.quirks.prompts_by_column = true;
  model.language_model_head = LanguageModelHeadSpec{.transform = {},
                                                    .untied = !config.flag({"tie_word_embeddings"}, true),
                                                    .quirks = {.labels_in_place = true}};
}

std::vector<WeightName> sequence_to_sequence_weights(const ModelSpec& model) {
  const std::string theirs = "model.{encoder|decoder}.layers.{i}.", ours = "{encoder|decoder}.layers.{i}.";
  const std::string their_cross = "model.decoder.layers.{i}.encoder_attn",
                    our_cross = "decoder.layers.{i}.cross_attention";
  std::vector<WeightName> table = {
      // checkpoint, ours
      {theirs + "self_attn.{q_proj|k_proj|v_proj}.{weight|bias}",
       ours + "self_attention.query_key_value.{weight|bias}"},
      {theirs + "self_attn.out_proj.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {theirs + "self_attn_layer_norm.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {their_cross + ".q_proj.{weight|bias}", our_cross + ".query.{weight|bias}"},
      {their_cross + ".{k_proj|v_proj}.{weight|bias}", our_cross + ".key_value.{weight|bias}"},
      {their_cross + ".out_proj.{weight|bias}", our_cross + ".output.{weight|bias}"},
      {their_cross + "_layer_norm.{weight|bias}", our_cross + "_norm.{weight|bias}"},
      {theirs + "fc1.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {theirs + "fc2.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {theirs + "final_layer_norm.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {"model.{encoder|decoder}.layernorm_embedding.{weight|bias}",
       "{encoder|decoder}.embeddings.norm.{weight|bias}"},
      {"model.{encoder|decoder}.layer_norm.{weight|bias}", "{encoder|decoder}.final_norm.{weight|bias}"},
      {"lm_head.weight", "language_model_head.weight"},
      {"final_logits_bias", "language_model_head.bias", WeightLayout::row, /*frozen=*/true},
  };
  if (!model.encoder)
    table.push_back({.checkpoint = "model.decoder.embed_tokens.weight",
                     .ours = "decoder.embeddings.tokens",
                     .aliases = {"model.shared.weight", "lm_head.weight"}});
  else if (model.share_embeddings)
    table.push_back({.checkpoint = "model.shared.weight",
                     .ours = "encoder.embeddings.tokens",
                     .aliases = {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight",
                                 "lm_head.weight"}});
  else
    table.push_back({"model.{encoder|decoder}.embed_tokens.weight", "{encoder|decoder}.embeddings.tokens"});
  return table;
}

}  // namespace attend
