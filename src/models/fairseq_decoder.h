// The decoder of fairseq's language models, which is BART's without an encoder: what they share of
// config.json, of the blocks and of the checkpoint names.
#pragma once

#include "models/family.h"

namespace attend {

// Where a relative goes its own way: what counts where its config is silent.
struct FairseqRelative {
  std::int64_t vocabulary, width, layers, heads, inner, positions;
  double attention_dropout = 0;
  std::string_view activation = "gelu";
  bool scales_embeddings = true;
};
// Norms before each sublayer and a last one; the positions are the family's. Each calls its fields otherwise.
StackSpec read_fairseq_decoder(const Fields& config, const FairseqRelative& relative);

// Positions count real tokens, and the table begins with two rows of which padding has the second.
PositionSpec positions_by_token(const Fields& config, const FairseqRelative& relative);

// With the heads of GPT's relatives. `prefix`: of everything in the stack; `last`: the name of its last norm.
std::vector<WeightName> fairseq_decoder_weights(const ModelSpec& model, const std::string& prefix,
                                                const std::string& last);

}  // namespace attend
