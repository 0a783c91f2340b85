#include "models/gpt_decoder.h"

#include "base/error.h"

#include <cmath>

namespace attend {

StackSpec gpt_decoder(const Fields& config, const GptRelative& relative) {
  const std::int64_t width = config.integer({"n_embd", "hidden_size"}, relative.width);
  const auto [heads, head_size] =
      read_heads(config, {"n_head", "num_attention_heads", "num_heads"}, relative.heads, width);
  const double dropout = read_dropout(config, {"resid_pdrop", "resid_dropout"}, relative.dropout);
  const NormSpec norm{config.number({"layer_norm_epsilon"}, relative.norm_epsilon, 0, 1)};
  const LayerSpec layer = {
      .order = relative.order,
      .norm = norm,
      .self_attention = {.heads = heads,
                         .head_size = head_size,
                         .scale = 1 / std::sqrt(static_cast<double>(head_size)),
                         .causal = true,
                         .dropout =
                             read_dropout(config, {"attn_pdrop", "attention_dropout"}, relative.dropout)},
      .cross_attention = {},
      .feed_forward =
          {.width = config.maybe_integer({"n_inner", "intermediate_size", "dff"}, 1).value_or(4 * width),
           .activation = read_activation(config, {"activation_function"}, "gelu_new")},
      .attention_result_dropout = dropout,
      .feed_forward_result_dropout = dropout,
  };
  return {
      .embeddings = {.vocabulary = config.integer({"vocab_size"}, relative.vocabulary),
                     .width = width,
                     .positions =
                         LearnedPositions{.count = config.integer({"n_positions", "max_position_embeddings"},
                                                                  relative.positions)},
                     .norm = {},
                     .dropout = read_dropout(config, {"embd_pdrop", "embed_dropout"}, relative.dropout)},
      .layers = std::vector<LayerSpec>(
          config.integer({"n_layer", "num_hidden_layers", "num_layers"}, relative.layers, 1, 10000), layer),
      .final_norm = relative.order == NormOrder::post ? std::nullopt : std::optional(norm),
      .weights_of = {},
  };
}

std::optional<LanguageModelHeadSpec> gpt_head(const Fields& config, std::string_view architecture) {
  if (!architecture.ends_with("LMHeadModel") && !architecture.ends_with("ForCausalLM")) return {};
  return LanguageModelHeadSpec{.transform = {}, .untied = !config.flag({"tie_word_embeddings"}, true)};
}

}  // namespace attend
