// Sums, extremes and boolean reductions along dimensions.
#include "tensor/reduce.h"

#include "tensor/device.h"

#include <fmt/ranges.h>

namespace attend::ops {
namespace {

template <class F>
Tensor extreme(const RowsAlong& rows, bool keep, F better) {
  if (rows.length == 0) fail("an empty tensor has no maximum");
  return with_type(rows.x.type(), [&](auto zero) {
    using T = decltype(zero);
    return reduce<T>(rows, keep, [&](std::int64_t i) {
      const T* const row = rows.x.const_data<T>() + i * rows.length;
      // Several lanes at a time, which the compiler turns into vector instructions; NaN is searched for
      // separately.
      constexpr std::int64_t kLanes = 16;
      std::array<T, kLanes> best;
      best.fill(row[0]);
      std::array<bool, kLanes> odd{};
      const std::int64_t whole = rows.length / kLanes * kLanes;
      for (std::int64_t j = 0; j < whole; j += kLanes)
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          const T x = row[j + lane];
          best[lane] = better(x, best[lane]) ? x : best[lane];
          odd[lane] |= x != x;
        }
      for (std::int64_t j = whole; j < rows.length; ++j) {
        best[0] = better(row[j], best[0]) ? row[j] : best[0];
        odd[0] |= row[j] != row[j];
      }
      for (std::int64_t lane = 1; lane < kLanes; ++lane) {
        if (better(best[lane], best[0])) best[0] = best[lane];
        odd[0] |= odd[lane];
      }
      if (odd[0]) return std::numeric_limits<T>::quiet_NaN();
      return best[0];
    });
  });
}

constexpr auto kLarger = [](auto a, auto b) { return a > b; };
constexpr auto kSmaller = [](auto a, auto b) { return a < b; };

Tensor extreme(const Tensor& x, const Dimensions& dims, bool keep, bool largest) {
  if (Device* const device = x.device(); device != nullptr && x.numel() > 0) {
    const Tensor made = empty(ones_along(x, dims), x.type(), device);
    device->extreme(array_of(made), array_of(x), dims, largest);
    return made.view(shape_along(x, dims, keep));
  }
  const RowsAlong rows = rows_along(x, dims);
  return largest ? extreme(rows, keep, kLarger) : extreme(rows, keep, kSmaller);
}

}  // namespace

RowsAlong rows_along(const Tensor& x, const Dimensions& dims) {
  Dimensions order;
  RowsAlong rows{{}, 1, 1, {}, {}};
  std::array<bool, Dimensions::kMax> gone{};
  for (const std::int64_t d : dims) gone[x.wrapped(d)] = true;
  for (std::size_t d = 0; d < x.sizes().size(); ++d) {
    rows.with_ones.push_back(gone[d] ? 1 : x.sizes()[d]);
    if (gone[d]) continue;
    order.push_back(static_cast<std::int64_t>(d));
    rows.kept.push_back(x.sizes()[d]);
    rows.count *= x.sizes()[d];
  }
  for (std::size_t d = 0; d < x.sizes().size(); ++d) {
    if (!gone[d]) continue;
    order.push_back(static_cast<std::int64_t>(d));
    rows.length *= x.sizes()[d];
  }
  // Over everything: in memory order, because no result depends on the order.
  if (dims.size() == x.sizes().size())
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return x.stride(a) > x.stride(b); });
  rows.x = x.permute(order).contiguous();
  return rows;
}

namespace {

// Broadcasts what was reduced to `with_ones` (1 for each reduced dimension) back to the shape `whole`.
Tensor spread(const Tensor& g, const Dimensions& with_ones, const Dimensions& whole) {
  return g.reshape(with_ones).expand(whole);
}

template <class T>
Sum<T> row_sum(const T* row, std::int64_t length) {
  Sum<T> sum = 0;
  for (std::int64_t j = 0; j < length; ++j) sum += static_cast<Sum<T>>(row[j]);
  return sum;
}

// The sum of a long row, split at positions that do not depend on the number of threads.
template <class T>
Sum<T> long_row_sum(const T* row, std::int64_t length) {
  constexpr std::int64_t kPiece = 1 << 16;
  const std::int64_t pieces = (length + kPiece - 1) / kPiece;
  std::vector<Sum<T>> sums(static_cast<std::size_t>(pieces));
  parallel_for(sums.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t first = static_cast<std::int64_t>(i) * kPiece;
      sums[i] = row_sum(row + first, std::min(kPiece, length - first));
    }
  });
  return row_sum(sums.data(), pieces);
}

// The sum of each column of x [rows, columns].
template <class T>
Tensor column_sums(const T* x, std::int64_t rows, std::int64_t columns) {
  const Tensor sums = empty({columns}, scalar_type_of<Sum<T>>());
  Sum<T>* const to = sums.data<Sum<T>>();
  constexpr std::int64_t kBlock = 256;  // columns at a time, so that their sums stay in the cache
  const std::int64_t blocks = (columns + kBlock - 1) / kBlock;
  const std::int64_t grain = 1 + 64 / std::max<std::int64_t>(1, rows);
  parallel_for(static_cast<std::size_t>(blocks), static_cast<std::size_t>(grain),
               [&](std::size_t begin, std::size_t end) {
                 const std::int64_t first = static_cast<std::int64_t>(begin) * kBlock,
                                    last = std::min(columns, static_cast<std::int64_t>(end) * kBlock);
                 for (std::int64_t block = first; block < last; block += kBlock) {
                   const std::int64_t stop = std::min(last, block + kBlock);
                   std::fill(to + block, to + stop, Sum<T>{});
                   for (std::int64_t i = 0; i < rows; ++i) {
                     const T* const row = x + i * columns;
                     for (std::int64_t j = block; j < stop; ++j) to[j] += static_cast<Sum<T>>(row[j]);
                   }
                 }
               });
  return sums;
}

Tensor sum_of(const Tensor& x, const Dimensions& dims, bool keep, ScalarType wanted) {
  if (Device* const device = x.device()) {
    const Tensor given = x.to(wanted), sums = zeros(ones_along(x, dims), wanted, device);
    if (x.numel() > 0) device->sum(array_of(sums), array_of(given), dims);
    return sums.view(shape_along(x, dims, keep));
  }
  const Tensor given = x.to(is_floating(x.type()) ? wanted : x.type());
  std::size_t leading = 0;  // whether the reduced dimensions come first
  while (leading < dims.size() && given.wrapped(dims[leading]) == leading) ++leading;
  const bool columns = leading == dims.size() && leading > 0 && leading < given.sizes().size() &&
                       given.numel() > 0 && given.is_contiguous();
  return with_type(given.type(), [&](auto zero) {
    using T = decltype(zero);
    if (columns) {
      std::int64_t rows = 1;
      Dimensions kept, with_ones;
      for (std::size_t d = 0; d < given.sizes().size(); ++d) {
        const std::int64_t size = given.sizes()[d];
        with_ones.push_back(d < leading ? 1 : size);
        if (d < leading)
          rows *= size;
        else
          kept.push_back(size);
      }
      return column_sums(given.const_data<T>(), rows, given.numel() / rows)
          .view(keep ? with_ones : kept)
          .to(wanted);
    }
    const RowsAlong rows = rows_along(given, dims);
    const Tensor sums = reduce<Sum<T>>(rows, keep, [&](std::int64_t i) {
      const T* const row = rows.x.const_data<T>() + i * rows.length;
      return rows.count == 1 && rows.length > (1 << 17) ? long_row_sum(row, rows.length)
                                                        : row_sum(row, rows.length);
    });
    return sums.to(wanted);
  });
}

// The gradient rule of max and min over dimensions: equal extremes share the gradient.
auto to_equals(const Tensor& x, const Dimensions& with_ones) {
  return [x = Saved(x), with_ones](const Tensor& y) {
    return [x, with_ones, y = Saved::result(y)](const Tensor& g) {
      const Tensor same = x().eq(y().reshape(with_ones)).to(g.type());
      Dimensions dims;
      for (std::size_t d = 0; d < with_ones.size(); ++d)
        if (with_ones[d] == 1) dims.push_back(static_cast<std::int64_t>(d));
      return std::vector<Tensor>{same * (g.reshape(with_ones) / same.sum(dims, true))};
    };
  };
}

}  // namespace

Tensor Tensor::sum(const Dimensions& dims, bool keep, std::optional<ScalarType> type) const {
  const ScalarType wanted = sum_type(*this, type);
  return with_rule([&] { return sum_of(*this, dims, keep, wanted); },
                   [&](const Tensor&) {
                     return [with_ones = ones_along(*this, dims), whole = Dimensions(sizes())](
                                const Tensor& g) { return std::vector<Tensor>{spread(g, with_ones, whole)}; };
                   },
                   *this);
}

Tensor Tensor::sum(std::optional<ScalarType> type) const {
  return sum(all_dims(*this), false, type);
}

Tensor Tensor::nansum(std::int64_t d) const {
  return where(eq(*this), *this, 0).sum(d);
}

Tensor Tensor::mean() const {
  return sum() / static_cast<double>(numel());
}
Tensor Tensor::mean(std::int64_t d, bool keep) const {
  return sum(d, keep) / static_cast<double>(size(d));
}

Tensor Tensor::min() const {
  return with_rule([&] { return extreme(*this, all_dims(*this), false, false); },
                   to_equals(*this, ones_along(*this, all_dims(*this))), *this);
}
Tensor Tensor::max() const {
  return with_rule([&] { return extreme(*this, all_dims(*this), false, true); },
                   to_equals(*this, ones_along(*this, all_dims(*this))), *this);
}
Tensor Tensor::amax(std::int64_t d, bool keep) const {
  return with_rule([&] { return extreme(*this, Dimensions(d), keep, true); },
                   to_equals(*this, ones_along(*this, Dimensions(d))), *this);
}
std::tuple<Tensor, Tensor> Tensor::max(std::int64_t d, bool keep) const {
  const Tensor places = argmax(d, keep);
  if (!tracked(*this)) return {amax(d, keep), places};
  const Tensor largest = gather(d, keep ? places : places.unsqueeze(d));
  return {keep ? largest : largest.squeeze(d), places};
}
std::tuple<Tensor, Tensor> aminmax(const Tensor& x) {
  return {x.min(), x.max()};
}

Tensor Tensor::argmax(std::int64_t d, bool keep) const {
  if (device() != nullptr && size(d) > 0) {
    const Tensor made = empty(ones_along(*this, Dimensions(d)), kLong, device());
    if (numel() > 0) device()->argmax(array_of(made), array_of(*this), static_cast<std::int64_t>(wrapped(d)));
    return keep ? made : made.squeeze(d);
  }
  const RowsAlong rows = rows_along(*this, Dimensions(d));
  if (rows.length == 0) fail("an empty tensor has no maximum");
  return with_type(type(), [&](auto zero) {
    using T = decltype(zero);
    return reduce<std::int64_t>(rows, keep, [&](std::int64_t i) {
      const T* const row = rows.x.const_data<T>() + i * rows.length;
      std::int64_t best = 0;
      for (std::int64_t j = 1; j < rows.length && row[best] == row[best]; ++j)
        if (row[j] > row[best] || row[j] != row[j]) best = j;
      return best;
    });
  });
}

Tensor Tensor::any() const {
  const Tensor all = to(kBool).contiguous();
  const bool* const begin = all.const_data<bool>();
  return scalar_tensor(std::any_of(begin, begin + numel(), [](bool x) { return x; }), kBool);
}
Tensor Tensor::any(std::int64_t d) const {
  return to(kBool).sum(d).gt(0);
}
Tensor Tensor::all() const {
  const Tensor all = to(kBool).contiguous();
  const bool* const begin = all.const_data<bool>();
  return scalar_tensor(std::all_of(begin, begin + numel(), [](bool x) { return x; }), kBool);
}

}  // namespace attend::ops
