// Between our layout of a parameter and a checkpoint's.
#pragma once

#include "models/weight_names.h"
#include "tensor/tensor.h"

namespace attend {

// The same memory in our layout, and in the checkpoint's: each the inverse of the other.
inline Tensor to_ours(const Tensor& t, const WeightSource& source) {
  if (source.heads > 0)  // [heads, 3, size, d] -> [3, heads, size, d]
    return t.view({source.heads, 3, t.size(0) / source.heads / 3, -1}).transpose(0, 1).reshape(t.sizes());
  const WeightLayout layout = source.layout;
  return layout == WeightLayout::transposed ? t.t() : layout == WeightLayout::row ? t.squeeze(0) : t;
}
inline Tensor to_checkpoint(const Tensor& t, const WeightSource& source) {
  if (source.heads > 0)
    return t.reshape({3, source.heads, t.size(0) / source.heads / 3, -1}).transpose(0, 1).reshape(t.sizes());
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
