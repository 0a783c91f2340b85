// Between our layout of a parameter and a checkpoint's.
#pragma once

#include "models/weight_names.h"
#include "tensor/tensor.h"

namespace attend {

// The same memory in our layout, and in the checkpoint's: each the inverse of the other.
inline Tensor to_ours(const Tensor& t, const WeightSource& source) {
  if (source.heads > 0)  // [heads, 3, size, d] -> [3, heads, size, d]
    return t.view({source.heads, 3, -1, t.size(1)}).transpose(0, 1).reshape(t.sizes());
  const WeightLayout layout = source.layout;
  return layout == WeightLayout::transposed ? t.t() : layout == WeightLayout::row ? t.squeeze(0) : t;
}
inline Tensor to_checkpoint(const Tensor& t, const WeightSource& source) {
  if (source.heads > 0) return t.reshape({3, source.heads, -1, t.size(1)}).transpose(0, 1).reshape(t.sizes());
  const WeightLayout layout = source.layout;
  return layout == WeightLayout::transposed ? t.t() : layout == WeightLayout::row ? t.unsqueeze(0) : t;
}

// The checkpoint's shape of one of `parts` pieces of our weight.
inline std::vector<std::int64_t> checkpoint_shape(const Tensor& weight, WeightLayout layout,
                                                  std::size_t parts) {
  std::vector<std::int64_t> shape = weight.sizes().vec();
  shape[0] /= static_cast<std::int64_t>(parts);
  if (layout == WeightLayout::transposed) std::swap(shape[0], shape[1]);
  if (layout == WeightLayout::row) shape.insert(shape.begin(), 1);
  return shape;
}

}  // namespace attend
