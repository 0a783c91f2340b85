// One call of attention(): where its sequences are. Only for the sources that compute it.
#pragma once

#include "nn/attention/attention_function.h"

#include <memory>
#include <vector>

namespace attend {

// The QueryMask of every sequence, in the kernels' format.
struct OwnKeyRows {
  std::vector<Tensor> penalties;
  std::vector<const float*> penalty;      // [B], into these
  std::vector<std::int32_t> places;       // [Tq]
  std::vector<std::int64_t> key_segment;  // [Tk]; empty: no segments
};

// The sequences of one call: where their queries and keys begin.
struct AttentionLayout {
  Offsets queries;
  std::vector<std::int64_t> key_begin, key_length;
  bool all_keys = true;                        // every row of keys and values belongs to a sequence
  std::shared_ptr<const OwnKeyRows> own = {};  // null: each query sees what the spec says
  std::vector<std::int32_t> places = {};       // [Tq], positions for distances; empty: those of the queries

  std::int64_t count() const { return queries.count(); }
};

// Whether padding must be computed as in the originals, with all of a sequence's rows as keys. The kernel
// assumes that the last key is at the last query's position.
inline bool reads_padding(const KeySource& keys, const Sight& sight, const AttentionCall& call) {
  const bool by_place = call.spec.causal || call.spec.window > 0 || call.distance.rows.defined();
  return sight.visible && (by_place || call.spec.quirks.padding_sees_all || keys.rows.defined());
}

// query, key and value are views with their own row strides.
struct AttentionViews {
  Tensor query, key, value;  // [Tq, w], [Tk, kw], [Tk, kw]

  // key_value undefined: everything is in `first` [T, w + 2 kw], or keys and values are in a cache.
  AttentionViews(const Tensor& first, const Tensor& key_value, const AttentionSpec& spec,
                 bool cached = false) {
    const std::int64_t w = spec.width(), kw = spec.key_width();
    query = first.narrow(1, 0, w);
    if (cached) return;
    const Tensor both = key_value.defined() ? key_value : first.narrow(1, w, 2 * kw);
    key = both.narrow(1, 0, kw);
    value = both.narrow(1, kw, kw);
  }
};

}  // namespace attend
