#include "models/families/fairseq_decoder.h"

#include "models/families/gpt_decoder.h"

#include <cmath>

namespace attend {

StackSpec read_fairseq_decoder(const Fields& config, const FairseqRelative& relative) {
  const std::int64_t width = config.integer({"hidden_size", "d_model"}, relative.width);
  AttentionSpec attention =
      read_attention(config, {"num_attention_heads", "attention_heads"}, relative.heads, width);
  attention.causal = attention.quirks.padding_sees_all = true;
  attention.dropout =
      read_dropout(config, {"attention_dropout", "attention_probs_dropout_prob"}, relative.attention_dropout);
  const NormSpec norm{1e-5};
  const double dropout = read_dropout(config, {"dropout", "hidden_dropout_prob"}, 0.1);
  const LayerSpec layer = {
      .order = NormOrder::pre,
      .norm = norm,
      .self_attention = attention,
      .cross_attention = {},
      .feed_forward = {.width = config.integer({"ffn_dim", "intermediate_size"}, relative.inner),
                       .activation = read_activation(config, {"activation_function", "hidden_act"},
                                                     relative.activation),
                       .dropout = read_dropout(config, {"activation_dropout"}, 0)},
      .attention_result_dropout = dropout,
      .feed_forward_result_dropout = dropout,
  };
  const std::int64_t vocabulary = config.integer({"vocab_size"}, relative.vocabulary);
  const bool scaled =
      relative.scales_embeddings && config.flag({"scale_embedding"}, relative.scales_embeddings);
  return {
      .embeddings = {.vocabulary = vocabulary,
                     .width = width,
                     .scale = scaled ? std::sqrt(static_cast<double>(width)) : 1,
                     .positions = {},
                     .padding_id = config.maybe_integer({"pad_token_id"}, -1, vocabulary - 1).value_or(-1),
                     .norm = {},
                     .dropout = dropout},
      .layers = std::vector<LayerSpec>(
          config.integer({"num_hidden_layers", "num_layers"}, relative.layers, 1, 10000), layer),
      .final_norm = norm,
      .weights_of = {},
  };
}

PositionSpec positions_by_token(const Fields& config, const FairseqRelative& relative) {
  return LearnedPositions{.count = config.integer({"max_position_embeddings"}, relative.positions),
                          .offset = 2,
                          .skips_padding = true};
}

std::vector<WeightName> fairseq_decoder_weights(const ModelSpec& model, const std::string& prefix,
                                                const std::string& last) {
  const std::string theirs = prefix + ".layers.{i}.", ours = "decoder.layers.{i}.";
  const std::string cross = theirs + "encoder_attn", our_cross = ours + "cross_attention";
  return with_gpt_heads(
      model, {
                 // checkpoint, ours
                 {prefix + ".embed_tokens.weight", "decoder.embeddings.tokens"},
                 {prefix + ".embed_positions.weight", "decoder.embeddings.positions"},
                 {prefix + ".project_in.weight", "decoder.embeddings.projection.weight"},
                 {prefix + ".project_out.weight", "decoder.back.weight"},
                 {theirs + "self_attn.{q_proj|k_proj|v_proj}.{weight|bias}",
                  ours + "self_attention.query_key_value.{weight|bias}"},
                 {theirs + "self_attn.out_proj.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
                 {theirs + "self_attn_layer_norm.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
                 {cross + ".q_proj.{weight|bias}", our_cross + ".query.{weight|bias}"},
                 {cross + ".{k_proj|v_proj}.{weight|bias}", our_cross + ".key_value.{weight|bias}"},
                 {cross + ".out_proj.{weight|bias}", our_cross + ".output.{weight|bias}"},
                 {cross + "_layer_norm.{weight|bias}", our_cross + "_norm.{weight|bias}"},
                 {theirs + "fc1.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
                 {theirs + "fc2.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
                 {theirs + "final_layer_norm.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
                 {prefix + "." + last + ".{weight|bias}", "decoder.final_norm.{weight|bias}"},
             });
}

}  // namespace attend
