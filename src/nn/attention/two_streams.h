// XLNet's two streams (Yang et al. 2019, arXiv:1906.08237, sections 2.2 to 2.4): tokens are predicted in any
// order, each from those earlier in that order. A row of the first stream, the content stream, knows its
// token. Each predicted token has a row in the second, the query stream, which knows only its position. Both
// read the content that is visible to them.
#pragma once

#include "nn/pass/ragged.h"
#include "nn/spec/spec.h"

namespace attend {

// A text and the order in which it is predicted.
struct PermutedText {
  std::vector<std::int64_t> ids = {}, types = {};  // types: one for each id, or none
  // The position of each token in the order. A token that is not predicted is visible to all, so it must not
  // see predicted tokens, or it would reveal them: give it a position before all predicted ones.
  std::vector<std::int64_t> order = {};
  std::vector<std::int64_t> predicted = {};  // indices of the predicted tokens, each once
};

struct TwoStreams {
  TokenBatch batch;  // of each text its L tokens, then a row for each of its P predicted ones
  Tensor targets;    // [sum of P] int64: these rows, text by text in the order of `predicted`
  Tensor labels;     // [sum of P] int64: their tokens
};

// Row i sees token j if j is not predicted or order[j] < order[i]; content also sees itself. That is the
// perm_mask of transformers' DataCollatorForPermutationLanguageModeling. A row that would see nothing sees
// everything equally, as in the original, so some token of a text should not be predicted. `past` as in
// TokenBatch. An Error if a text's numbers do not match.
TwoStreams two_streams(const std::vector<PermutedText>& texts, std::vector<Tensor> past = {});

// What the rows of one text see, first its content and then its queries. hidden [L, L] bool: token j is
// hidden from row i (content is never hidden from itself). targets [P] int64: the tokens that the queries
// represent. `past`: the number of keys before the text's own; all rows see them, unless `hidden` is [L, past
// + L] and says otherwise. types [L] int64, or undefined: none are given.
QueryMask two_stream_keys(const Tensor& hidden, const Tensor& targets, std::int64_t past,
                          const Tensor& types);

// What the stack always hides from each of L rows: [L, past + L] bool (StackSpec::looks_back).
Tensor always_hidden(const StackSpec& stack, std::int64_t L, std::int64_t past);
// What the rows of texts without a second stream see, if the stack hides something; null: everything. An
// Error for a stack that reads half of its batch backwards, because a text's result would depend on the other
// texts.
std::shared_ptr<const KeyMask> default_mask(const StackSpec& stack, const TokenBatch& batch);

}  // namespace attend
