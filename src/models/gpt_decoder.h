// The decoder of GPT, GPT-2, CTRL, GPT-Neo and GPT-J: what they share of config.json and of the blocks.
#pragma once

#include "models/family.h"

namespace attend {

// Where a relative of GPT goes its own way: what counts where its config is silent.
struct GptRelative {
  NormOrder order = NormOrder::pre;
  std::int64_t vocabulary = 50257, width = 768, layers = 12, heads = 12, positions = 1024;
  double norm_epsilon = 1e-5, dropout = 0.1;
};

// Causal layers over token embeddings and trained positions, with a last norm where the order is not post;
// and the heads that the architecture's name asks for: over the embedding matrix, over labels, or, in
// "...DoubleHeadsModel", both. A sentence is scored from its last token.
// Fields go by GPT-2's names, BERT's, GPT-Neo's or CTRL's.
ModelSpec gpt_model(const Fields& config, std::string_view architecture, const GptRelative& relative);

// Those heads alone, for a model that has its decoder.
void put_gpt_heads(ModelSpec& model, const Fields& config, std::string_view architecture);

// GPT-J's blocks, which are CodeGen's too: `rotary` numbers of each head turn with the position, in place of
// trained positions; the attention has no biases, and the scores' matrix has. An odd `rotary` is an Error.
void put_gptj_blocks(ModelSpec& model, const Fields& config, std::int64_t rotary);
// The table of a model of these blocks, whose queries, keys and values the row says.
std::vector<WeightName> gptj_table(const ModelSpec& model, const WeightName& query_key_value);

// The table with the heads' names behind it. `sentence`: what the matrix that scores sentences is called.
std::vector<WeightName> with_gpt_heads(const ModelSpec& model, std::vector<WeightName> table,
                                       const std::string& sentence = "score");

}  // namespace attend
