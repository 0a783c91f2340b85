#include "nn/attention/padded_attention.h"

#include <algorithm>
#include <limits>

namespace attend {
namespace {

using Numbers = std::vector<std::int64_t>;

// Rows begin[b] ... of x, `longest` for each text; a shorter text repeats its last one. [B, longest, heads,
// D]
Tensor padded(const Tensor& x, const Numbers& begin, const Numbers& length, std::int64_t longest,
              std::int64_t heads) {
  Numbers rows;
  for (std::size_t b = 0; b < begin.size(); ++b)
    for (std::int64_t i = 0; i < longest; ++i) rows.push_back(begin[b] + std::min(i, length[b] - 1));
  return x.index_select(0, ops::tensor(rows)).view({std::ssize(begin), longest, heads, -1});
}

// Which keys a query does not see, as bool [B, 1, Lq or 1, Lk]; undefined: it sees all.
Tensor hidden_keys(const AttentionSpec& spec, const Numbers& lengths, std::int64_t Lq, const KeyRows& keys,
                   std::int64_t Lk, ops::Device* device) {
  const auto B = std::ssize(lengths);
  const Tensor place = ops::arange(Lk).on(device);  // [Lk]
  const bool equal = std::ranges::all_of(keys.length, [&](std::int64_t length) { return length == Lk; });
  Tensor hidden;
  const auto hide = [&](const Tensor& more) { hidden = hidden.defined() ? hidden.logical_or(more) : more; };
  if (!equal) hide(place.ge(ops::tensor(keys.length).view({B, 1, 1, 1}).on(device)));
  if (!spec.causal && spec.window == 0) return hidden;
  Numbers own;  // the key at the position of each query
  for (std::size_t b = 0; b < lengths.size(); ++b)
    for (std::int64_t i = 0; i < Lq; ++i)
      own.push_back(keys.length[b] - lengths[b] + std::min(i, lengths[b] - 1));
  const Tensor after = place - ops::tensor(own).view({B, 1, Lq, 1}).on(device);
  if (spec.causal && Lq > 1) hide(after.gt(0));
  if (spec.window > 0) hide(after.le(-spec.window));
  if (spec.window > 0 && !spec.causal) hide(after.ge(spec.window));
  return hidden;
}

}  // namespace

Tensor padded_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Offsets& queries,
                        const KeyRows& keys, const AttentionCall& call) {
  const AttentionSpec& spec = call.spec;
  const std::int64_t B = queries.count(), heads = spec.heads, key_heads = spec.heads_of_keys();
  Numbers begin, length;
  for (std::int64_t b = 0; b < B; ++b) {
    begin.push_back(queries.begin(b));
    length.push_back(queries.length(b));
  }
  const std::int64_t Lq = std::ranges::max(length), Lk = std::ranges::max(keys.length);
  // [B, heads, L, D]: each key head is repeated for its heads of queries.
  const auto spread = [&](const Tensor& x) {
    return padded(x, keys.begin, keys.length, Lk, key_heads)
        .unsqueeze(3)
        .expand({B, Lk, key_heads, heads / key_heads, spec.head_size})
        .reshape({B, Lk, heads, spec.head_size})
        .transpose(1, 2);
  };
  const Tensor query = padded(q, begin, length, Lq, heads).transpose(1, 2), key = spread(k),
               value = spread(v);
  const auto rows_of = [&](const Tensor& result) {  // [B, heads, Lq, D] -> [Tq, w]
    const Tensor rows = result.transpose(1, 2).reshape({B * Lq, spec.width()});
    if (B * Lq == queries.total()) return rows;
    Numbers real;
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t i = 0; i < length[static_cast<std::size_t>(b)]; ++i) real.push_back(b * Lq + i);
    return rows.index_select(0, ops::tensor(real));
  };
  // If each query's place is that of its key, it does not see its text's padding, which comes later.
  const bool only_causal = spec.causal && spec.window == 0 && length == keys.length;
  if (spec.soft_cap == 0 && !call.sinks.defined()) {
    const Tensor hidden = only_causal ? Tensor() : hidden_keys(spec, length, Lq, keys, Lk, q.device());
    return rows_of(ops::attention(query, key, value, hidden.defined() ? hidden.logical_not() : Tensor(),
                                  only_causal, spec.scale));
  }
  Tensor scores = ops::matmul(query, key.transpose(2, 3)) * spec.scale;  // [B, heads, Lq, Lk]
  if (spec.soft_cap > 0) scores = ops::tanh(scores / spec.soft_cap) * spec.soft_cap;
  if (const Tensor hidden = hidden_keys(spec, length, Lq, keys, Lk, q.device()); hidden.defined())
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
  if (call.sinks.defined())
    scores = ops::cat({scores, call.sinks.view({1, -1, 1, 1}).expand({B, heads, Lq, 1})}, 3);
  Tensor weights = ops::softmax(scores, -1);
  if (call.sinks.defined()) weights = weights.narrow(3, 0, Lk);
  return rows_of(ops::matmul(weights, value));
}

}  // namespace attend
