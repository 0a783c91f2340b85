// Two models that share the vectors of tokens, positions and token types, so that both train them (Clark et
// al. 2020, "ELECTRA", arXiv:2003.10555, section 3.2).
#pragma once

#include "nn/transformer/transformer.h"

namespace attend {

// From here on the first stack of `to` reads those vectors of `from`'s first stack that have the same shapes,
// and a head of `to` that is tied to its token vectors scores with them. Returns the shared ones: "tokens",
// "positions", "types". Each is one parameter of both modules, with one gradient, and both save it. Computed
// vectors and those in clusters stay separate, and so do norms and projections after them.
std::vector<std::string> share_embeddings(const Transformer& from, Transformer to);

}  // namespace attend
