// Noise that a model learns to remove (Lewis et al. 2019, arXiv:1910.13461, section 2.2). Each kind is a
// function of a text and a random generator.
#pragma once

#include <attend/tokenizer.h>

#include "base/random.h"

#include <span>
#include <vector>

namespace attend {

// Sentences in another order; all orders are equally likely.
std::vector<TokenId> permute_sentences(std::vector<std::span<const TokenId>> sentences, Random& random);

// Leaves out each token with this probability, but never all of them.
void delete_tokens(std::vector<TokenId>& text, double rate, Random& random);

// Text infilling: replaces spans with Poisson-distributed lengths by one mask token each; a span of length 0
// inserts a mask. Together they cover `rate` of the tokens on average (the last one is shortened for that).
// Inserted masks are left out if the text would become longer than `longest`.
void fill_in_spans(std::vector<TokenId>& text, TokenId mask, double rate, double mean_span,
                   std::int64_t longest, Random& random);

// Each token becomes a mask with this probability.
void mask_tokens(std::vector<TokenId>& text, TokenId mask, double rate, Random& random);

// Rotates the text to start at a random token; the tokens before it come last.
void rotate_text(std::vector<TokenId>& text, Random& random);

// A sample of the Poisson distribution with this mean, at most `most`.
std::int64_t draw_poisson(double mean, std::int64_t max, Random& random);

}  // namespace attend
