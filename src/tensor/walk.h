// Iterates over tensors with any strides, for this folder's sources.
#pragma once

#include "base/parallel.h"
#include "tensor/ops.h"

namespace attend::ops {

// Calls f with a value of the element type:
// with_type(x.type(), [&](auto zero) { using T = decltype(zero); ... }).
template <class F>
decltype(auto) with_type(ScalarType type, F&& f) {
  switch (type) {
    case kBool:
      return f(false);
    case kByte:
      return f(std::uint8_t{});
    case kChar:
      return f(std::int8_t{});
    case kShort:
      return f(std::int16_t{});
    case kInt:
      return f(std::int32_t{});
    case kLong:
      return f(std::int64_t{});
    case kFloat:
      return f(float{});
    case kDouble:
      return f(double{});
    case kHalf:
    case kBFloat16:
      break;
  }
  fail("tensors of type {} can only be copied and converted", name_of(type));
}

inline bool is_reduced(ScalarType type) {
  return type == kHalf || type == kBFloat16;
}
ScalarType promoted(ScalarType a, ScalarType b);
// The type in which two tensors are computed. As in torch, a tensor without dimensions has less weight.
ScalarType common_type(const Tensor& a, const Tensor& b);
ScalarType common_type(const Tensor& a, Scalar b);

Dimensions broadcast(const Dimensions& a, const Dimensions& b);
Dimensions contiguous_strides(const Dimensions& sizes);

// Calls row(starts, n, steps) for runs of n elements: where each of the N tensors begins, and the step
// between its elements. Dimensions that are contiguous in all tensors are merged.
template <std::size_t N, class Row>
void for_each_row(const Dimensions& sizes, const std::array<Dimensions, N>& strides, Row row) {
  Dimensions merged;
  std::array<Dimensions, N> steps;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return;
    if (sizes[d] == 1) continue;
    bool joins = merged.size() > 0;
    for (std::size_t i = 0; i < N && joins; ++i)
      joins = steps[i][merged.size() - 1] == strides[i][d] * sizes[d];
    if (!joins) {
      merged.push_back(sizes[d]);
      for (std::size_t i = 0; i < N; ++i) steps[i].push_back(strides[i][d]);
      continue;
    }
    merged[merged.size() - 1] *= sizes[d];
    for (std::size_t i = 0; i < N; ++i) steps[i][merged.size() - 1] = strides[i][d];
  }
  std::array<std::int64_t, N> starts{}, last{};
  if (merged.size() == 0) {
    row(starts, std::int64_t{1}, last);
    return;
  }
  const std::size_t outer = merged.size() - 1;
  for (std::size_t i = 0; i < N; ++i) last[i] = steps[i][outer];
  std::array<std::int64_t, Dimensions::kMax> place{};
  while (true) {
    row(starts, merged[outer], last);
    std::size_t d = outer;
    while (d > 0) {
      --d;
      for (std::size_t i = 0; i < N; ++i) starts[i] += steps[i][d];
      if (++place[d] < merged[d]) break;
      for (std::size_t i = 0; i < N; ++i) starts[i] -= steps[i][d] * merged[d];
      place[d] = 0;
      if (d == 0) return;
    }
    if (outer == 0) return;
  }
}

// The same on all threads if that pays off, for rows that write only to their own elements.
template <std::size_t N, class Row>
void for_each_row_at_once(const Dimensions& sizes, const std::array<Dimensions, N>& strides, Row row) {
  constexpr std::int64_t kWorthAThread = 1 << 14;
  std::int64_t all = 1;
  std::size_t longest = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    all *= sizes[d];
    if (sizes[d] > sizes[longest]) longest = d;
  }
  if (all < 2 * kWorthAThread) return for_each_row(sizes, strides, row);
  const std::int64_t length = sizes[longest], threads = static_cast<std::int64_t>(thread_count());
  const std::int64_t share =
      std::max((length + threads - 1) / threads, kWorthAThread / std::max<std::int64_t>(1, all / length));
  parallel_for(static_cast<std::size_t>(length), static_cast<std::size_t>(share),
               [&](std::size_t begin, std::size_t end) {
                 Dimensions part = sizes;
                 part[longest] = static_cast<std::int64_t>(end - begin);
                 for_each_row(part, strides, [&](auto starts, std::int64_t n, const auto& steps) {
                   for (std::size_t i = 0; i < N; ++i)
                     starts[i] += static_cast<std::int64_t>(begin) * strides[i][longest];
                   row(starts, n, steps);
                 });
               });
}

// x with the dimensions `dims` moved to the end, as contiguous rows.
struct RowsAlong {
  Tensor x;  // [count, length], contiguous
  std::int64_t count, length;
  Dimensions kept;       // the shape without `dims`
  Dimensions with_ones;  // the shape with 1 for each of `dims`
  Dimensions shape(bool keep) const { return keep ? with_ones : kept; }
};
RowsAlong rows_along(const Tensor& x, const Dimensions& dims);

}  // namespace attend::ops
