// Reductions along dimensions, for this folder only.
#pragma once

#include "base/parallel.h"
#include "tensor/tape.h"
#include "tensor/walk.h"

namespace attend::ops {

// Sums of floats are computed in double.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

// reduced(row, length) for every row.
template <class Out, class F>
Tensor reduce(const RowsAlong& rows, bool keep, F reduced) {
  const Tensor out = empty(rows.shape(keep), scalar_type_of<Out>());
  Out* const to = out.data<Out>();
  if (rows.count == 1) {  // a single row may be split among threads
    to[0] = reduced(0);
    return out;
  }
  const std::int64_t grain = 1 + 16384 / std::max<std::int64_t>(1, rows.length);  // rows per thread
  parallel_for(static_cast<std::size_t>(rows.count), static_cast<std::size_t>(grain),
               [&](std::size_t begin, std::size_t end) {
                 for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i)
                   to[i] = reduced(i);
               });
  return out;
}

inline Dimensions all_dims(const Tensor& x) {
  Dimensions dims;
  for (std::int64_t d = 0; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

inline Dimensions ones_along(const Tensor& x, const Dimensions& dims) {
  Dimensions shape = x.sizes();
  for (const std::int64_t d : dims) shape[x.wrapped(d)] = 1;
  return shape;
}

// The shape after a reduction along `dims`.
inline Dimensions shape_along(const Tensor& x, const Dimensions& dims, bool keep) {
  const Dimensions with_ones = ones_along(x, dims);
  if (keep) return with_ones;
  std::array<bool, Dimensions::kMax> gone{};
  for (const std::int64_t d : dims) gone[x.wrapped(d)] = true;
  Dimensions kept;
  for (std::size_t d = 0; d < with_ones.size(); ++d)
    if (!gone[d]) kept.push_back(with_ones[d]);
  return kept;
}

inline ScalarType sum_type(const Tensor& x, std::optional<ScalarType> type) {
  return type.value_or(x.is_floating_point() ? x.type() : kLong);
}

}  // namespace attend::ops
