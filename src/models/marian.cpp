// The original Transformer: Vaswani et al. 2017, arXiv:1706.03762, as Marian trains it and transformers
// stores it (model_type "marian"). Checkpoints: Helsinki-NLP/opus-mt-*, and what `attend train` makes.
#include "base/error.h"
#include "models/family.h"

#include <cmath>

namespace attend {
namespace {

StackSpec stack(const Fields& config, bool decoder) {
  const std::int64_t width = config.integer({"d_model", "hidden_size"}, 1024);
  const std::int64_t heads = decoder ? config.integer({"decoder_attention_heads"}, 16)
                                     : config.integer({"encoder_attention_heads", "num_attention_heads"}, 16);
  const std::int64_t head_size = read_head_size(config, width, heads);
  const double dropout = read_dropout(config, {"dropout"}, 0.1);
  const AttentionSpec attention = {.heads = heads,
                                   .head_size = head_size,
                                   .scale = 1 / std::sqrt(static_cast<double>(head_size)),
                                   .causal = decoder,
                                   .dropout = read_dropout(config, {"attention_dropout"}, 0)};
  AttentionSpec cross = attention;
  cross.causal = false;
  const LayerSpec layer = {
      .order = NormOrder::post,
      .norm = {1e-5},
      .self_attention = attention,
      .cross_attention = decoder ? std::optional(cross) : std::nullopt,
      .feed_forward = {.width = decoder ? config.integer({"decoder_ffn_dim"}, 4096)
                                        : config.integer({"encoder_ffn_dim"}, 4096),
                       .activation = read_activation(config, {"activation_function"}, "gelu"),
                       .dropout = read_dropout(config, {"activation_dropout"}, 0)},
      .dropout = dropout,
  };
  const std::int64_t vocabulary = config.integer({"vocab_size"}, 58101);
  return {
      .embeddings =
          {.vocabulary =
               decoder ? config.maybe_integer({"decoder_vocab_size"}, 1).value_or(vocabulary) : vocabulary,
           .width = width,
           .scale = config.flag({"scale_embedding"}, false) ? std::sqrt(static_cast<double>(width)) : 1,
           .positions = SinusoidalPositions{config.integer({"max_position_embeddings"}, 1024, 1, 1 << 20)},
           .padding_id = config.integer({"pad_token_id"}, 58100, -1),
           .norm = {},
           .dropout = dropout},
      .layers = std::vector<LayerSpec>(
          decoder ? config.integer({"decoder_layers"}, 12, 1, 10000)
                  : config.integer({"encoder_layers", "num_hidden_layers"}, 12, 1, 10000),
          layer),
      .final_norm = {},
  };
}

ModelSpec spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  model.encoder = stack(config, false);
  model.decoder = stack(config, true);
  model.share_embeddings = config.flag({"share_encoder_decoder_embeddings"}, true);
  if (model.share_embeddings && model.encoder->embeddings.vocabulary != model.decoder->embeddings.vocabulary)
    fail("{}: decoder_vocab_size differs from vocab_size, but share_encoder_decoder_embeddings is true",
         config.source());
  if (architecture == "MarianMTModel")
    model.head = LanguageModelHeadSpec{
        .transform = {}, .bias = true, .untied = !config.flag({"tie_word_embeddings"}, true)};
  // As the paper's authors did; the width in the config (init_std) is that of transformers' own fresh models.
  model.initialization = Initialization::xavier;
  return model;
}

std::vector<WeightName> weights(const ModelSpec& model) {
  std::vector<WeightName> table = {
      // checkpoint, ours
      {"model.{encoder|decoder}.layers.{i}.self_attn.{q_proj|k_proj|v_proj}.{weight|bias}",
       "{encoder|decoder}.layers.{i}.self_attention.query_key_value.{weight|bias}"},
      {"model.{encoder|decoder}.layers.{i}.self_attn.out_proj.{weight|bias}",
       "{encoder|decoder}.layers.{i}.self_attention.output.{weight|bias}"},
      {"model.{encoder|decoder}.layers.{i}.self_attn_layer_norm.{weight|bias}",
       "{encoder|decoder}.layers.{i}.self_attention_norm.{weight|bias}"},
      {"model.decoder.layers.{i}.encoder_attn.q_proj.{weight|bias}",
       "decoder.layers.{i}.cross_attention.query.{weight|bias}"},
      {"model.decoder.layers.{i}.encoder_attn.{k_proj|v_proj}.{weight|bias}",
       "decoder.layers.{i}.cross_attention.key_value.{weight|bias}"},
      {"model.decoder.layers.{i}.encoder_attn.out_proj.{weight|bias}",
       "decoder.layers.{i}.cross_attention.output.{weight|bias}"},
      {"model.decoder.layers.{i}.encoder_attn_layer_norm.{weight|bias}",
       "decoder.layers.{i}.cross_attention_norm.{weight|bias}"},
      {"model.{encoder|decoder}.layers.{i}.fc1.{weight|bias}",
       "{encoder|decoder}.layers.{i}.feed_forward.in.{weight|bias}"},
      {"model.{encoder|decoder}.layers.{i}.fc2.{weight|bias}",
       "{encoder|decoder}.layers.{i}.feed_forward.out.{weight|bias}"},
      {"model.{encoder|decoder}.layers.{i}.final_layer_norm.{weight|bias}",
       "{encoder|decoder}.layers.{i}.feed_forward_norm.{weight|bias}"},
      {"lm_head.weight", "head.weight"},
      {"final_logits_bias", "head.bias", WeightLayout::row, /*frozen=*/true},
  };
  if (model.share_embeddings)
    table.push_back({.checkpoint = "model.shared.weight",
                     .ours = "encoder.embeddings.tokens",
                     .aliases = {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight",
                                 "lm_head.weight"}});
  else
    table.push_back({"model.{encoder|decoder}.embed_tokens.weight", "{encoder|decoder}.embeddings.tokens"});
  return table;
}

Json fresh_config(std::string_view preset) {
  struct Size {
    std::string_view name;
    int width, inner, heads, layers;
    double dropout;
  };
  // base and big: the paper's table 3. tiny: Wu et al. 2021 (arXiv:2105.14462), for corpora like Multi30k.
  static constexpr Size sizes[] = {{"transformer-tiny", 128, 256, 4, 4, 0.3},
                                   {"transformer-base", 512, 2048, 8, 6, 0.1},
                                   {"transformer-big", 1024, 4096, 16, 6, 0.3}};
  for (const Size& size : sizes) {
    if (size.name != (preset.empty() ? "transformer-base" : preset)) continue;
    return {{"model_type", "marian"},
            {"architectures", {"MarianMTModel"}},
            {"is_encoder_decoder", true},
            {"vocab_size", 32000},
            {"d_model", size.width},
            {"encoder_layers", size.layers},
            {"encoder_attention_heads", size.heads},
            {"encoder_ffn_dim", size.inner},
            {"decoder_layers", size.layers},
            {"decoder_attention_heads", size.heads},
            {"decoder_ffn_dim", size.inner},
            {"activation_function", "relu"},
            {"dropout", size.dropout},
            {"attention_dropout", 0.0},
            {"activation_dropout", 0.0},
            {"max_position_embeddings", 512},
            {"scale_embedding", true},
            {"share_encoder_decoder_embeddings", true},
            {"tie_word_embeddings", true},
            {"eos_token_id", 0},
            {"unk_token_id", 1},
            {"pad_token_id", 2},
            {"decoder_start_token_id", 2},
            {"forced_eos_token_id", 0},
            {"num_beams", 4},
            {"length_penalty", 1.0},
            {"max_length", 512}};
  }
  fail("marian has no preset \"{}\"; it has: transformer-tiny, transformer-base, transformer-big", preset);
}

}  // namespace

extern const Family marian;
const Family marian = {
    .model_type = "marian",
    .prefix = "model",
    .architectures = {"MarianMTModel", "MarianModel"},
    .spec = spec,
    .weights = weights,
    .ignored = {"model.{encoder|decoder}.embed_positions.weight"},
    .optional_fields = {"decoder_vocab_size", "init_std"},
    .fresh_config = fresh_config,
};

}  // namespace attend
