// Converts between our layout of a parameter and a checkpoint's.
#pragma once

#include "models/weights/weight_names.h"
#include "tensor/tensor.h"

namespace attend {

// How a checkpoint interleaves rows of queries, keys and values head by head (WeightName::heads).
struct HeadOrder {
  std::int64_t heads = 0, queries = 1;  // number of query heads before each key head
  bool values_before_keys = false;
};

// Rows head by head -> all queries, all keys, all values; and back.
inline Tensor heads_apart(const Tensor& rows, const HeadOrder& order) {
  const std::int64_t each = rows.size(0) / order.heads / (order.queries + 2);
  const Tensor by_head = rows.reshape({order.heads, order.queries + 2, each, -1});
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return by_head.narrow(1, first, count).reshape({order.heads * count * each, -1});
  };
  const Tensor second = part(order.queries, 1), third = part(order.queries + 1, 1);
  return ops::cat({part(0, order.queries), order.values_before_keys ? third : second,
                   order.values_before_keys ? second : third})
      .reshape(rows.sizes());
}
inline Tensor heads_together(const Tensor& rows, const HeadOrder& order) {
  const std::int64_t each = rows.size(0) / order.heads / (order.queries + 2);
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return rows.narrow(0, first * order.heads * each, count * order.heads * each)
        .reshape({order.heads, count, each, -1});
  };
  const Tensor keys = part(order.queries, 1), values = part(order.queries + 1, 1);
  return ops::cat({part(0, order.queries), order.values_before_keys ? values : keys,
                   order.values_before_keys ? keys : values},
                  1)
      .reshape(rows.sizes());
}
inline HeadOrder head_order(const WeightSource& source) {
  return {source.heads, source.queries_per_head, source.values_before_keys};
}

// A matrix or vector for each expert, with any number of columns -> [experts * out, in] or [experts * out].
inline Tensor experts_stacked(const Tensor& t, const WeightSource& source) {
  const std::int64_t experts = source.shape[0];
  Tensor each = t.dim() == 2 ? t.reshape({experts, -1, t.size(1)}).transpose(1, 2) : t.reshape({experts, -1});
  if (source.layout == WeightLayout::paired_experts) each = each.unflatten(1, {-1, 2}).transpose(1, 2);
  return t.dim() == 2 ? each.reshape({-1, t.size(0) / experts}) : each.flatten();
}
// The inverse.
inline Tensor experts_apart(const Tensor& t, const WeightSource& source) {
  const std::int64_t experts = source.shape[0], out = t.size(0) / experts;
  const std::int64_t in = t.dim() == 2 ? t.size(1) : 1;
  Tensor each = t.reshape({experts, out, in});
  if (source.layout == WeightLayout::paired_experts)
    each = each.reshape({experts, 2, out / 2, in}).transpose(1, 2).reshape({experts, out, in});
  return t.dim() == 2 ? each.transpose(1, 2).reshape({experts * in, out}) : each.flatten();
}
inline bool of_experts(const WeightSource& source) {
  return source.layout == WeightLayout::experts || source.layout == WeightLayout::paired_experts;
}

inline Tensor halves_swapped(const Tensor& t) {
  const std::int64_t half = t.size(0) / 2;
  return ops::cat({t.narrow(0, half, half), t.narrow(0, 0, half)});
}

// Converts to our layout, and to the checkpoint's; each is the inverse of the other.
inline Tensor to_ours(const Tensor& t, const WeightSource& source) {
  if (source.heads > 0) return heads_apart(t, head_order(source));
  if (of_experts(source)) return experts_stacked(t, source);
  if (source.layout == WeightLayout::swapped) return halves_swapped(t);
  const WeightLayout layout = source.layout;
  return layout == WeightLayout::transposed ? t.t() : layout == WeightLayout::row ? t.squeeze(0) : t;
}
inline Tensor to_checkpoint(const Tensor& t, const WeightSource& source) {
  if (source.heads > 0) return heads_together(t, head_order(source));
  if (of_experts(source)) return experts_apart(t, source);
  if (source.layout == WeightLayout::swapped) return halves_swapped(t);
  const WeightLayout layout = source.layout;
  return layout == WeightLayout::transposed ? t.t() : layout == WeightLayout::row ? t.unsqueeze(0) : t;
}

// The checkpoint's shape of tensor number i of those that make up our weight.
inline std::vector<std::int64_t> checkpoint_shape(const Tensor& weight, const WeightSource& source,
                                                  std::size_t i) {
  std::vector<std::int64_t> shape = weight.sizes().vec();
  shape[0] = source.rows_of(i, shape[0]).count;
  if (source.layout == WeightLayout::transposed) std::swap(shape[0], shape[1]);
  if (of_experts(source) && shape.size() == 2)
    shape = {source.shape[0] * shape[1], shape[0] / source.shape[0]};
  if (source.layout == WeightLayout::row) shape.insert(shape.begin(), 1);
  return shape;
}

}  // namespace attend
