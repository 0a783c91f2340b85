// Llama's decoder, which most later families share: root mean square norms before each sublayer, rotary
// positions, gated feed-forward layers, fewer heads of keys and values. Here are the config fields, blocks
// and names that they share.
#pragma once

#include "models/families/family.h"
#include "models/families/rotary_fields.h"
#include "models/families/sliding_layers.h"

namespace attend {

// How a relative of Llama differs: its defaults for fields that config.json leaves out.
struct LlamaRelative {
  std::int64_t vocabulary = 32000, width = 4096, inner = 11008, layers = 32, heads = 32;
  std::int64_t key_heads = 0;  // 0: the number of heads
  std::int64_t head_size = 0;  // 0: width / heads
  std::int64_t positions = 2048;
  std::int64_t padding_id = -1;  // -1: none
  NormSpec norm = {.epsilon = 1e-6, .root_mean_square = true};
  NormOrder order = NormOrder::pre;
  std::string_view activation = "silu";
  bool gated = true, tied = false;
  double rotary_base = 10000, rotary_part = 1;
  bool rotary_halves = true;
};

// Its spec, with the head that the architecture's name asks for: over the vocabulary or over labels. No
// biases and no windows: families add those.
ModelSpec llama_model(const Fields& config, std::string_view architecture, const LlamaRelative& relative);

// Llama's names for those parts that the model has. `body_of_answers`: the prefix of the body's names if the
// head finds answers; in some families it is "transformer.".
std::vector<WeightName> llama_weights(const ModelSpec& model, const std::string& body_of_answers = "model.");

// The table with other words in the checkpoint's names: {"o_proj", "dense"}.
std::vector<WeightName> renamed(std::vector<WeightName> table,
                                const std::vector<std::pair<std::string, std::string>>& words);

// Fields of config.json that all of them know in addition to those of a new one.
std::vector<std::string_view> llama_optional_fields(const std::vector<std::string_view>& more = {});

// A size of a new model.
struct LlamaSize {
  std::string_view name;
  int width, inner, layers, heads, key_heads;
};
Json fresh_llama_config(std::string_view model_type, std::string_view architecture, const LlamaSize& size,
                        const LlamaRelative& relative);
// The size with this name.
const LlamaSize& find_size(std::span<const LlamaSize> sizes, std::string_view name);

}  // namespace attend
