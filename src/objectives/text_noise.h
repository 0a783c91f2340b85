// Noise that a text is to be made whole from (Lewis et al. 2019, arXiv:1910.13461, section 2.2). Each kind
// alone is a function of a text and of what is drawn.
#pragma once

#include <attend/tokenizer.h>

#include "base/random.h"

#include <span>
#include <vector>

namespace attend {

// Sentences in another order, each order equally likely.
std::vector<TokenId> permute_sentences(std::vector<std::span<const TokenId>> sentences, Random& random);

// Leaves out each token with this probability, but never all of them.
void delete_tokens(std::vector<TokenId>& text, double rate, Random& random);

// Text infilling: spans whose lengths are drawn from a Poisson distribution become a mask token each,
// wherever they lie; of length 0 they are a mask that stands for nothing. Together they cover `rate` of the
// tokens on average (the last one is cut short for that). Masks that stand for nothing are left out where the
// text would become longer than `longest`.
void fill_in_spans(std::vector<TokenId>& text, TokenId mask, double rate, double mean_span,
                   std::int64_t longest, Random& random);

// Each token becomes a mask with this probability.
void mask_tokens(std::vector<TokenId>& text, TokenId mask, double rate, Random& random);

// The text begins with any of its tokens, and what stood before that one comes last.
void rotate_text(std::vector<TokenId>& text, Random& random);

// How many of the events that come `mean` at a time on average come at once; `most` where there are more.
std::int64_t draw_poisson(double mean, std::int64_t most, Random& random);

}  // namespace attend
