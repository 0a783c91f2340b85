#include "nn/attention/padded_attention.h"

#include "nn/attention/distance_scores.h"
#include "nn/pass/dropout.h"

#include <algorithm>
#include <limits>

namespace attend {
namespace {

using Numbers = std::vector<std::int64_t>;

// Rows begin[b] ..., `longest` for each text; a shorter text repeats its last one. [B, longest]
Tensor padded_rows(const Numbers& begin, const Numbers& length, std::int64_t longest) {
  Numbers rows;
  for (std::size_t b = 0; b < begin.size(); ++b)
    for (std::int64_t i = 0; i < longest; ++i) rows.push_back(begin[b] + std::min(i, length[b] - 1));
  return ops::tensor(rows).view({std::ssize(begin), longest});
}

// These rows of x: [B, longest, heads, D]
Tensor padded(const Tensor& x, const Tensor& rows, std::int64_t heads) {
  return x.index_select(0, rows.flatten()).view({rows.size(0), rows.size(1), heads, -1});
}

// Where keys and queries are in their texts, on the device.
struct Places {
  Tensor keys;     // [Lk]
  Tensor queries;  // [B, 1, Lq, 1]: the key at the position of each query

  Places(const Numbers& lengths, std::int64_t Lq, const KeyRows& keys_of_texts, std::int64_t Lk,
         ops::Device* device)
      : keys(ops::arange(Lk).on(device)) {
    Numbers own;
    for (std::size_t b = 0; b < lengths.size(); ++b)
      for (std::int64_t i = 0; i < Lq; ++i)
        own.push_back(keys_of_texts.length[b] - lengths[b] + std::min(i, lengths[b] - 1));
    queries = ops::tensor(own).view({std::ssize(lengths), 1, Lq, 1}).on(device);
  }
};

// Which keys a query does not see, as bool [B, 1, Lq or 1, Lk]; undefined: it sees all.
Tensor hidden_keys(const AttentionSpec& spec, const KeyRows& keys, const Places& places) {
  const std::int64_t B = std::ssize(keys.length), Lk = places.keys.size(0), Lq = places.queries.size(2);
  const bool equal = std::ranges::all_of(keys.length, [&](std::int64_t length) { return length == Lk; });
  Tensor hidden;
  const auto hide = [&](const Tensor& more) { hidden = hidden.defined() ? hidden.logical_or(more) : more; };
  if (!equal) hide(places.keys.ge(ops::tensor(keys.length).view({B, 1, 1, 1}).on(places.keys.device())));
  if (!spec.causal && spec.window == 0) return hidden;
  const Tensor after = places.keys - places.queries;
  if (spec.causal && Lq > 1) hide(after.gt(0));
  if (spec.window > 0) hide(after.le(-spec.window));
  if (spec.window > 0 && !spec.causal) hide(after.ge(spec.window));
  return hidden;
}

// The scores with all that distances add to them.
Tensor with_distances(Tensor scores, const DistanceTensors& d, const Tensor& query_rows,
                      const Tensor& key_rows, const Places& places) {
  const std::int64_t B = query_rows.size(0), Lq = query_rows.size(1), Lk = key_rows.size(1);
  const Tensor distance =
      d.by_key ? places.keys.expand({B, Lq, Lk}) : (places.keys - places.queries).squeeze(1);
  DistancePlaces all{.query_rows = query_rows, .key_rows = key_rows, .distance = distance};
  if (d.of_segment.defined()) {
    const auto segments = [&](const Tensor& rows) {
      return d.segment.index_select(0, rows.flatten()).view({B, rows.size(1)});
    };
    all.other_segment = segments(query_rows).unsqueeze(2).ne(segments(key_rows).unsqueeze(1));
  }
  for (const ScoreTerms::Term& term : distance_scores(d, all)) scores = scores + term.scores;
  return scores;
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
  const Tensor key_rows = padded_rows(keys.begin, keys.length, Lk),
               query_rows = padded_rows(begin, length, Lq);
  const auto spread = [&](const Tensor& x) {
    return padded(x, key_rows, key_heads)
        .unsqueeze(3)
        .expand({B, Lk, key_heads, heads / key_heads, spec.head_size})
        .reshape({B, Lk, heads, spec.head_size})
        .transpose(1, 2);
  };
  const Tensor query = padded(q, query_rows, heads).transpose(1, 2), key = spread(k), value = spread(v);
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
  const Places places(length, Lq, keys, Lk, q.device());
  const bool plain = spec.soft_cap == 0 && !call.distance.rows.defined() && !call.sinks.defined();
  if (plain && call.dropout == 0) {
    const Tensor hidden = only_causal ? Tensor() : hidden_keys(spec, keys, places);
    return rows_of(ops::attention(query, key, value, hidden.defined() ? hidden.logical_not() : Tensor(),
                                  only_causal, spec.scale));
  }
  Tensor scores = ops::matmul(query, key.transpose(2, 3)) * spec.scale;  // [B, heads, Lq, Lk]
  if (spec.soft_cap > 0) scores = ops::tanh(scores / spec.soft_cap) * spec.soft_cap;
  if (call.distance.rows.defined())
    scores = with_distances(scores, call.distance, query_rows, key_rows, places);
  if (const Tensor hidden = hidden_keys(spec, keys, places); hidden.defined())
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
  if (call.sinks.defined())
    scores = ops::cat({scores, call.sinks.view({1, -1, 1, 1}).expand({B, heads, Lq, 1})}, 3);
  Tensor weights = ops::softmax(scores, -1);
  if (call.sinks.defined()) weights = weights.narrow(3, 0, Lk);
  return rows_of(ops::matmul(attention_dropout(weights, call.dropout, call.seed, query_rows), value));
}

}  // namespace attend
