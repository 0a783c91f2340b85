// The decoder of fairseq's language models, which is BART's without an encoder: the config fields, blocks and
// checkpoint names that they share.
#pragma once

#include "models/families/family.h"

namespace attend {

// The defaults of a relative for fields that config.json leaves out.
struct FairseqRelative {
  std::int64_t vocabulary, width, layers, heads, inner, positions;
  double attention_dropout = 0;
  std::string_view activation = "gelu";
  bool scales_embeddings = true;
};
// Norms before each sublayer and a final one; the family sets the positions. Each family has its own field
// names.
StackSpec read_fairseq_decoder(const Fields& config, const FairseqRelative& relative);

// Positions count real tokens; the table begins with two extra rows, and padding uses the second.
PositionSpec positions_by_token(const Fields& config, const FairseqRelative& relative);

// With the heads of GPT's relatives. `prefix`: of all names in the stack; `last`: the name of the final norm.
std::vector<WeightName> fairseq_decoder_weights(const ModelSpec& model, const std::string& prefix,
                                                const std::string& last);

}  // namespace attend
