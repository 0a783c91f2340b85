// Converts between our layout of a parameter and a checkpoint's.
#pragma once

#include "models/weight_names.h"
#include "tensor/tensor.h"

namespace attend {

// Rows of queries, keys and values head by head -> all queries, all keys, all values; and back.
inline Tensor heads_apart(const Tensor& rows, std::int64_t heads, bool values_before_keys) {
  Tensor by_head = rows.reshape({heads, 3, rows.size(0) / heads / 3, -1});
  if (values_before_keys)
    by_head = ops::stack({by_head.select(1, 0), by_head.select(1, 2), by_head.select(1, 1)}, 1);
  return by_head.transpose(0, 1).reshape(rows.sizes());
}
inline Tensor heads_together(const Tensor& rows, std::int64_t heads, bool values_before_keys) {
  Tensor by_kind = rows.reshape({3, heads, rows.size(0) / heads / 3, -1});
  if (values_before_keys) by_kind = ops::stack({by_kind[0], by_kind[2], by_kind[1]});
  return by_kind.transpose(0, 1).reshape(rows.sizes());
}

// The same memory in our layout, and in the checkpoint's: each the inverse of the other.
inline Tensor to_ours(const Tensor& t, const WeightSource& source) {
  if (source.heads > 0) return heads_apart(t, source.heads, source.values_before_keys);
  const WeightLayout layout = source.layout;
  return layout == WeightLayout::transposed ? t.t() : layout == WeightLayout::row ? t.squeeze(0) : t;
}
inline Tensor to_checkpoint(const Tensor& t, const WeightSource& source) {
  if (source.heads > 0) return heads_together(t, source.heads, source.values_before_keys);
  const WeightLayout layout = source.layout;
  return layout == WeightLayout::transposed ? t.t() : layout == WeightLayout::row ? t.unsqueeze(0) : t;
}

// The checkpoint's shape of tensor number i of those that make up our weight.
inline std::vector<std::int64_t> checkpoint_shape(const Tensor& weight, const WeightSource& source,
                                                  std::size_t i) {
  std::vector<std::int64_t> shape = weight.sizes().vec();
  shape[0] = source.rows_of(i, shape[0]).count;
  if (source.layout == WeightLayout::transposed) std::swap(shape[0], shape[1]);
  if (source.layout == WeightLayout::row) shape.insert(shape.begin(), 1);
  return shape;
}

}  // namespace attend
