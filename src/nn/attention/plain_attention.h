// Attention of one sequence with tensor operations: attention_function.h uses it for double precision, for
// masks per query, and if padding is visible. The tape records it.
#pragma once

#include "nn/attention/attention_function.h"

namespace attend {

// q [Lq, w], k and v [Lk, kw] -> [Lq, w]. `query` and `key` are the rows of call.distance's tables at which
// the sequence begins. `own`: what each query sees.
Tensor plain_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionCall& call,
                       std::int64_t query, std::int64_t key, const QueryMask& own);

// What the last Lq of Lk positions see according to `spec`. `type`: of the penalties.
QueryMask default_query_mask(const AttentionSpec& spec, std::int64_t Lq, std::int64_t Lk, ScalarType type);

// Visibility among L rows with padding: only columns first to first + count - 1 are real, and all rows see
// the `before` keys that come first. Only code that reads padding needs it. As in the originals padding gets
// the lowest score possible, so that a row that may see nothing else sees all columns equally.
struct PaddedRows {
  std::int64_t length, before, first, count;
};
QueryMask padded_keys(const AttentionSpec& spec, const PaddedRows& rows, ScalarType type);

// Adds to call.scores, which is not null, how the weights of such a sequence are computed.
void capture_scores(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionCall& call,
                    std::int64_t query, std::int64_t key, const QueryMask& own);

}  // namespace attend
