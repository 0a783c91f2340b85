#include "nn/attention/plain_sequences.h"

#include "nn/attention/padded_attention.h"
#include "nn/cache/cache.h"

namespace attend {
namespace {

// [heads, L, before + L] -> [heads, L, before + count]
void hide_padding(Tensor& weights, const PaddedRows& rows) {
  weights = ops::cat(
      {weights.narrow(2, 0, rows.before), weights.narrow(2, rows.before + rows.first, rows.count)}, 2);
}

}  // namespace

Tensor PlainSequences::attend() const {
  if (can_be_padded()) return attend_together();
  std::vector<Tensor> parts;
  if (call_.weights) call_.weights->clear();
  for (std::int64_t b = 0; b < layout_.count(); ++b) {
    const auto [key, value] = keys_of(b);
    parts.push_back(plain_attention(query(b), key, value, call_, layout_.queries.begin(b),
                                    layout_.key_begin[b], seen(b)));
    if (padded_ && call_.weights) hide_padding(call_.weights->back(), padding(b));
  }
  return ops::cat(parts);
}

void PlainSequences::capture_all() const {
  for (std::int64_t b = 0; b < layout_.count(); ++b) {
    const auto [key, value] = keys_of(b);
    capture_scores(query(b), key, value, call_, layout_.queries.begin(b), layout_.key_begin[b], seen(b));
  }
}

bool PlainSequences::can_be_padded() const {
  if (views_.query.device() == nullptr || padded_ || !sight_.own.empty()) return false;
  if (call_.weights || call_.scores) return false;
  // Keys that are gathered from a cache are at other rows than those of the tables.
  if (keys_.cache && (call_.distance.of_key.defined() || call_.distance.of_segment.defined())) return false;
  if (call_.spec.quirks.later_scores_are_equal) return false;
  if (keys_.cache && !keys_.cache->keeps_all(keys_.sequences)) return false;
  for (std::int64_t b = 0; b < layout_.count(); ++b)
    if (layout_.queries.length(b) == 0 || layout_.key_length[b] == 0) return false;
  return layout_.count() > 0;
}

Tensor PlainSequences::attend_together() const {
  KeyRows rows{layout_.key_begin, layout_.key_length};
  if (!keys_.cache)
    return padded_attention(views_.query, views_.key, views_.value, layout_.queries, rows, call_);
  const auto [key, value] = keys_.cache->gather(keys_.sequences, keys_.layer, rows.begin);
  return padded_attention(views_.query, key, value, layout_.queries, rows, call_);
}

std::pair<Tensor, Tensor> PlainSequences::keys_of(std::int64_t b) const {
  if (keys_.cache) return keys_.cache->gather(keys_.sequences[b], keys_.layer);
  return {views_.key.narrow(0, layout_.key_begin[b], layout_.key_length[b]),
          views_.value.narrow(0, layout_.key_begin[b], layout_.key_length[b])};
}

PaddedRows PlainSequences::padding(std::int64_t b) const {
  const std::int64_t length = layout_.queries.length(b);
  return {length, layout_.key_length[b] - length, sight_.visible->first[b], sight_.visible->count[b]};
}

QueryMask PlainSequences::seen(std::int64_t b) const {
  if (!sight_.own.empty()) return sight_.own[b];
  const ScalarType type = views_.query.type();
  if (padded_) return padded_keys(call_.spec, padding(b), type);
  return default_query_mask(call_.spec, layout_.queries.length(b), layout_.key_length[b], type);
}

}  // namespace attend
