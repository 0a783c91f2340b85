// One vector for a text from the hidden states of its tokens (Reimers & Gurevych 2019, arXiv:1908.10084).
#pragma once

#include "nn/pass/ragged.h"
#include "sources/model_directory.h"

namespace attend {

// hidden [T, d] -> [B, d]; with gradients. A text's vector does not depend on the others, to the last bit.
// `places` [T]: the position of each token in its text, from 0, for modes that weight by position; undefined:
// in order. An Error for a text without tokens.
Tensor pool(const Tensor& hidden, const Offsets& offsets, SentencePooling::Mode mode,
            const Tensor& places = {});

// Normalizes rows to length 1: x / |x|, where |x| is at least 1e-12.
Tensor to_unit_length(const Tensor& x);

}  // namespace attend
