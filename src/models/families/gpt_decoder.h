// The decoder of GPT, GPT-2, CTRL, GPT-Neo and GPT-J: the config fields and blocks that they share.
#pragma once

#include "models/families/family.h"

namespace attend {

// How a relative of GPT differs: its defaults for fields that config.json leaves out.
struct GptRelative {
  NormOrder order = NormOrder::pre;
  std::int64_t vocabulary = 50257, width = 768, layers = 12, heads = 12, positions = 1024;
  double norm_epsilon = 1e-5, dropout = 0.1;
};

// Causal layers over token embeddings and trained positions, with a final norm unless the order is post; and
// the heads that the architecture's name asks for: over the embedding matrix, over labels, or, in
// "...DoubleHeadsModel", both. A sentence is scored from its last token. Fields have the names of GPT-2,
// BERT, GPT-Neo or CTRL.
ModelSpec gpt_model(const Fields& config, std::string_view architecture, const GptRelative& relative);

// Only these heads, for a model that has its decoder.
void put_gpt_heads(ModelSpec& model, const Fields& config, std::string_view architecture);

// The blocks of GPT-J and CodeGen: the first `rotary` numbers of each head are rotated by position, instead
// of trained positions; attention has no biases, but the language model head has. An odd `rotary` is an
// Error.
void put_gptj_blocks(ModelSpec& model, const Fields& config, std::int64_t rotary);
// The weight table of a model with these blocks; `query_key_value` is the row for queries, keys and values.
std::vector<WeightName> gptj_table(const ModelSpec& model, const WeightName& query_key_value);

// The table with the heads' names appended. `sentence`: the name of the matrix that scores sentences.
std::vector<WeightName> with_gpt_heads(const ModelSpec& model, std::vector<WeightName> table,
                                       const std::string& sentence = "score");

}  // namespace attend
