// Along dimensions.
#include "base/best.h"
#include "base/parallel.h"
#include "kernels/kernels.h"
#include "tensor/tape.h"
#include "tensor/walk.h"

#include <cmath>
#include <numeric>

namespace attend::ops {
namespace {

// Sums of floats are of doubles.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

// reduced(row, length) of every row.
template <class Out, class F>
Tensor reduce(const RowsAlong& rows, bool keep, F reduced) {
  const Tensor out = empty(rows.shape(keep), scalar_type_of<Out>());
  Out* const to = out.data_ptr<Out>();
  if (rows.count == 1) {  // whose row may be cut for threads
    to[0] = reduced(0);
    return out;
  }
  const std::int64_t grain = 1 + 16384 / std::max<std::int64_t>(1, rows.length);  // rows worth a thread
  parallel_for(static_cast<std::size_t>(rows.count), static_cast<std::size_t>(grain),
               [&](std::size_t begin, std::size_t end) {
                 for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i)
                   to[i] = reduced(i);
               });
  return out;
}

Dimensions all_dims(const Tensor& x) {
  Dimensions dims;
  for (std::int64_t d = 0; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

template <class F>
Tensor extreme(const RowsAlong& rows, bool keep, F better) {
  if (rows.length == 0) fail("nothing has no largest number");
  return with_type(rows.x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    return reduce<T>(rows, keep, [&](std::int64_t i) {
      const T* const row = rows.x.const_data_ptr<T>() + i * rows.length;
      // Several at a time, which the compiler makes one instruction; what is not a number is looked for
      // apart.
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

ScalarType sum_type(const Tensor& x, std::optional<ScalarType> type) {
  return type.value_or(x.is_floating_point() ? x.scalar_type() : kLong);
}

// x as rows along dimension d, of each of which f or, of floats, the kernel makes one, put back into their
// place.
template <class F>
Tensor along(const Tensor& x, std::int64_t d, void (*kernel)(float*, const float*, std::int64_t), F f) {
  if (x.dim() == 0) return along(x.unsqueeze(0), 0, kernel, f).squeeze(0);
  const Tensor rows = x.transpose(d, -1).contiguous(), made = empty_like(rows);
  const std::int64_t length = rows.size(-1), count = length > 0 ? rows.numel() / length : 0;
  if (rows.scalar_type() == kDouble) {
    made.copy_(rows);
    for (std::int64_t i = 0; i < count; ++i) f(made.data_ptr<double>() + i * length, length);
  } else {
    const float* const from = rows.const_data_ptr<float>();
    float* const to = made.data_ptr<float>();
    const std::int64_t grain = 1 + 4096 / std::max<std::int64_t>(1, length);  // rows worth a thread
    parallel_for(static_cast<std::size_t>(count), static_cast<std::size_t>(grain),
                 [&](std::size_t begin, std::size_t end) {
                   for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i)
                     kernel(to + i * length, from + i * length, length);
                 });
  }
  return made.transpose(d, -1).contiguous();
}

template <class T>
T largest(const T* row, std::int64_t n) {
  T most = -std::numeric_limits<T>::infinity();
  for (std::int64_t j = 0; j < n; ++j)
    if (row[j] > most || row[j] != row[j]) most = row[j];
  return most;
}

template <class T>
T log_of_sum(const T* row, std::int64_t n) {
  const T most = largest(row, n), shift = std::isinf(most) ? 0 : most;
  double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) sum += static_cast<double>(std::exp(row[j] - shift));
  return static_cast<T>(std::log(sum)) + shift;
}

}  // namespace

RowsAlong rows_along(const Tensor& x, IntArrayRef dims) {
  Dimensions order;
  RowsAlong rows{{}, 1, 1, {}, {}};
  std::array<bool, Dimensions::kMost> gone{};
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
  // Of everything, the numbers as they lie in memory: no result depends on their order.
  if (dims.size() == x.sizes().size())
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return x.stride(a) > x.stride(b); });
  rows.x = x.permute(order).contiguous();
  return rows;
}

namespace {

// What was reduced to `shape` (1 where a dimension was reduced), as large as it was.
Tensor spread(const Tensor& g, const Dimensions& with_ones, const Dimensions& whole) {
  return g.reshape(with_ones).expand(whole);
}

template <class T>
Sum<T> row_sum(const T* row, std::int64_t length) {
  Sum<T> sum = 0;
  for (std::int64_t j = 0; j < length; ++j) sum += static_cast<Sum<T>>(row[j]);
  return sum;
}

// The sum of a long row, cut at places that do not depend on the threads.
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

// Sums over the rows of x [rows, columns], column by column.
template <class T>
Tensor column_sums(const T* x, std::int64_t rows, std::int64_t columns) {
  const Tensor sums = empty({columns}, scalar_type_of<Sum<T>>());
  Sum<T>* const to = sums.data_ptr<Sum<T>>();
  constexpr std::int64_t kBlock = 256;  // columns, whose sums stay close
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

Tensor sum_of(const Tensor& x, IntArrayRef dims, bool keep, ScalarType wanted) {
  const Tensor given = x.to(isFloatingType(x.scalar_type()) ? wanted : x.scalar_type());
  std::size_t leading = 0;  // do the dimensions stand first?
  while (leading < dims.size() && given.wrapped(dims[leading]) == leading) ++leading;
  const bool columns = leading == dims.size() && leading > 0 && leading < given.sizes().size() &&
                       given.numel() > 0 && given.is_contiguous();
  return with_type(given.scalar_type(), [&](auto zero) {
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
      return column_sums(given.const_data_ptr<T>(), rows, given.numel() / rows)
          .view(keep ? with_ones : kept)
          .to(wanted);
    }
    const RowsAlong rows = rows_along(given, dims);
    const Tensor sums = reduce<Sum<T>>(rows, keep, [&](std::int64_t i) {
      const T* const row = rows.x.const_data_ptr<T>() + i * rows.length;
      return rows.count == 1 && rows.length > (1 << 17) ? long_row_sum(row, rows.length)
                                                        : row_sum(row, rows.length);
    });
    return sums.to(wanted);
  });
}

Dimensions ones_along(const Tensor& x, IntArrayRef dims) {
  Dimensions shape = x.sizes();
  for (const std::int64_t d : dims) shape[x.wrapped(d)] = 1;
  return shape;
}

// The rule of what picks one number along dimensions: those that are like it share its gradient.
auto to_equals(const Tensor& x, const Dimensions& with_ones) {
  return [x = Saved(x), with_ones](const Tensor& y) {
    return [x, with_ones, y = Saved::result(y)](const Tensor& g) {
      const Tensor same = x().eq(y().reshape(with_ones)).to(g.scalar_type());
      Dimensions dims;
      for (std::size_t d = 0; d < with_ones.size(); ++d)
        if (with_ones[d] == 1) dims.push_back(static_cast<std::int64_t>(d));
      return std::vector<Tensor>{same * (g.reshape(with_ones) / same.sum(dims, true))};
    };
  };
}

}  // namespace

Tensor Tensor::sum(IntArrayRef dims, bool keep, std::optional<ScalarType> type) const {
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
  return with_rule([&] { return extreme(rows_along(*this, all_dims(*this)), false, kSmaller); },
                   to_equals(*this, ones_along(*this, all_dims(*this))), *this);
}
Tensor Tensor::max() const {
  return with_rule([&] { return extreme(rows_along(*this, all_dims(*this)), false, kLarger); },
                   to_equals(*this, ones_along(*this, all_dims(*this))), *this);
}
Tensor Tensor::amax(std::int64_t d, bool keep) const {
  return with_rule([&] { return extreme(rows_along(*this, IntArrayRef(d)), keep, kLarger); },
                   to_equals(*this, ones_along(*this, IntArrayRef(d))), *this);
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
  const RowsAlong rows = rows_along(*this, IntArrayRef(d));
  if (rows.length == 0) fail("nothing has no largest number");
  return with_type(scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    return reduce<std::int64_t>(rows, keep, [&](std::int64_t i) {
      const T* const row = rows.x.const_data_ptr<T>() + i * rows.length;
      std::int64_t best = 0;
      for (std::int64_t j = 1; j < rows.length && row[best] == row[best]; ++j)
        if (row[j] > row[best] || row[j] != row[j]) best = j;
      return best;
    });
  });
}

Tensor Tensor::any() const {
  const Tensor all = to(kBool).contiguous();
  const bool* const begin = all.const_data_ptr<bool>();
  return scalar_tensor(std::any_of(begin, begin + numel(), [](bool x) { return x; }), kBool);
}
Tensor Tensor::any(std::int64_t d) const {
  return to(kBool).sum(d).gt(0);
}
Tensor Tensor::all() const {
  const Tensor all = to(kBool).contiguous();
  const bool* const begin = all.const_data_ptr<bool>();
  return scalar_tensor(std::all_of(begin, begin + numel(), [](bool x) { return x; }), kBool);
}

namespace {

// The gradient of softmax, of its result y, or of log_softmax, row by row.
template <class T>
void softmax_gradient(T* to, const T* y, const T* g, std::int64_t n, bool logarithms) {
  Sum<T> sum = 0;
  if (logarithms) {
    for (std::int64_t j = 0; j < n; ++j) sum += static_cast<Sum<T>>(g[j]);
    const T share = static_cast<T>(sum);
    for (std::int64_t j = 0; j < n; ++j) to[j] = g[j] - std::exp(y[j]) * share;
    return;
  }
  for (std::int64_t j = 0; j < n; ++j) sum += static_cast<Sum<T>>(g[j]) * static_cast<Sum<T>>(y[j]);
  const T share = static_cast<T>(sum);
  for (std::int64_t j = 0; j < n; ++j) to[j] = (g[j] - share) * y[j];
}

Tensor softmax_gradient(const Tensor& result, const Tensor& gradient, std::int64_t d, bool logarithms) {
  if (result.dim() == 0) return zeros_like(result);
  const Tensor y = result.transpose(d, -1).contiguous(),
               g = gradient.to(result.scalar_type()).transpose(d, -1).contiguous(), made = empty_like(y);
  const std::int64_t length = y.size(-1), count = length > 0 ? y.numel() / length : 0;
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    parallel_for(static_cast<std::size_t>(count),
                 static_cast<std::size_t>(1 + 4096 / std::max<std::int64_t>(1, length)),
                 [&](std::size_t begin, std::size_t end) {
                   for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i)
                     softmax_gradient(made.data_ptr<T>() + i * length, y.const_data_ptr<T>() + i * length,
                                      g.const_data_ptr<T>() + i * length, length, logarithms);
                 });
  };
  y.scalar_type() == kDouble ? run(double{}) : run(float{});
  return made.transpose(d, -1);
}

template <class Compute>
Tensor with_softmax_rule(const Tensor& x, std::int64_t d, bool logarithms, const Compute& compute) {
  return with_rule(
      compute,
      [&](const Tensor& y) {
        return [d, logarithms, y = Saved::result(y)](const Tensor& g) {
          return std::vector<Tensor>{softmax_gradient(y(), g, d, logarithms)};
        };
      },
      x);
}

}  // namespace

Tensor softmax(const Tensor& x, std::int64_t d, std::optional<ScalarType> type) {
  const Tensor given = x.to(type.value_or(x.scalar_type()));
  return with_softmax_rule(given, d, false, [&] {
    return along(given, d, kernels::kernels().softmax, [](double* row, std::int64_t n) {
      const double most = largest(row, n);
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += row[j] = std::exp(row[j] - most);
      for (std::int64_t j = 0; j < n; ++j) row[j] /= sum;
    });
  });
}

Tensor Tensor::softmax(std::int64_t d) const {
  return ops::softmax(*this, d);
}

Tensor log_softmax(const Tensor& x, std::int64_t d, std::optional<ScalarType> type) {
  const Tensor given = x.to(type.value_or(x.scalar_type()));
  return with_softmax_rule(given, d, true, [&] {
    return along(given, d, kernels::kernels().log_softmax, [](double* row, std::int64_t n) {
      const double most = largest(row, n);
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += std::exp(row[j] - most);
      const double shift = std::log(sum);
      for (std::int64_t j = 0; j < n; ++j) row[j] = row[j] - most - shift;
    });
  });
}

Tensor logsumexp(const Tensor& x, IntArrayRef dims, bool keep) {
  const auto compute = [&] {
    const RowsAlong rows = rows_along(x, dims);
    const auto run = [&](auto zero) {
      using T = decltype(zero);
      return reduce<T>(rows, keep, [&](std::int64_t i) {
        return log_of_sum(rows.x.const_data_ptr<T>() + i * rows.length, rows.length);
      });
    };
    return x.scalar_type() == kDouble ? run(double{}) : run(float{});
  };
  return with_rule(
      compute,
      [&](const Tensor& y) {
        return [x = Saved(x), y = Saved::result(y), with_ones = ones_along(x, dims)](const Tensor& g) {
          return std::vector<Tensor>{(x() - y().reshape(with_ones)).exp() * g.reshape(with_ones)};
        };
      },
      x);
}
Tensor Tensor::logsumexp(std::int64_t d, bool keep) const {
  return ops::logsumexp(*this, IntArrayRef(d), keep);
}

namespace {

double sum_of_squares(const Tensor& x) {
  const Tensor all = x.contiguous();
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const T* const data = all.const_data_ptr<T>();
    constexpr std::int64_t kPiece = 1 << 15, kLanes = 8;
    const std::int64_t length = all.numel(), pieces = (length + kPiece - 1) / kPiece;
    std::vector<double> sums(static_cast<std::size_t>(pieces));
    parallel_for(sums.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::int64_t first = static_cast<std::int64_t>(i) * kPiece,
                           last = std::min(length, first + kPiece);
        std::array<double, kLanes> lanes{};
        std::int64_t j = first;
        for (; j + kLanes <= last; j += kLanes)
          for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            const auto v = static_cast<double>(data[j + lane]);
            lanes[static_cast<std::size_t>(lane)] += v * v;
          }
        for (; j < last; ++j) lanes[0] += static_cast<double>(data[j]) * static_cast<double>(data[j]);
        sums[i] = std::accumulate(lanes.begin(), lanes.end(), 0.0);
      }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  };
  return all.scalar_type() == kDouble ? run(double{}) : run(float{});
}

}  // namespace

Tensor linalg_vector_norm(const Tensor& x, Scalar power, IntArrayRef given, bool keep,
                          std::optional<ScalarType> type) {
  if (power.to<double>() != 2) fail("lengths of power {} are not there, only 2", power.to<double>());
  const Dimensions dims = given.empty() ? all_dims(x) : Dimensions(given);
  const ScalarType wanted = type.value_or(x.scalar_type());
  const auto compute = [&] {
    if (dims.size() == x.sizes().size() && !keep)
      return scalar_tensor(
          std::sqrt(sum_of_squares(
              isFloatingType(x.scalar_type()) && !is_reduced(x.scalar_type()) ? x : x.to(kDouble))),
          wanted);
    return x.to(kDouble).square().sum(dims, keep).sqrt().to(wanted);
  };
  return with_rule(
      compute,
      [&](const Tensor& y) {
        return [x = Saved(x), y = Saved::result(y), with_ones = ones_along(x, dims)](const Tensor& g) {
          const Tensor length = y().reshape(with_ones);  // of length 0: no gradient
          const Tensor share = g.reshape(with_ones) / where(length.eq(0), ones_like(length), length);
          return std::vector<Tensor>{x() * share};
        };
      },
      x);
}
Tensor Tensor::norm(Scalar power, std::int64_t d, bool keep) const {
  return linalg_vector_norm(*this, power, IntArrayRef(d), keep);
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, std::int64_t d) {
  const auto length = [d](const Tensor& x) { return x.norm(2, d).clamp_min(1e-8); };
  return (a * b).sum(d) / (length(a) * length(b));
}

Tensor layer_norm(const Tensor& x, IntArrayRef, const Tensor& weight, const Tensor& bias, double epsilon) {
  const Tensor centred = x - x.mean(-1, true);
  return centred * rsqrt(centred.square().mean(-1, true) + epsilon) * weight + bias;
}

Tensor Tensor::cumsum(std::int64_t d) const {
  const auto compute = [&] {
    const Tensor made = to(sum_type(*this, {})).transpose(d, -1).clone();
    const std::int64_t length = made.size(-1), count = length > 0 ? made.numel() / length : 0;
    with_type(made.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      for (std::int64_t i = 0; i < count; ++i) {
        T* const row = made.data_ptr<T>() + i * length;
        Sum<T> sum = 0;
        for (std::int64_t j = 0; j < length; ++j) row[j] = static_cast<T>(sum += static_cast<Sum<T>>(row[j]));
      }
    });
    return made.transpose(d, -1);
  };
  return with_rule(
      compute,
      [&](const Tensor&) {
        return [d](const Tensor& g) {  // each number is in all sums from its own on
          return std::vector<Tensor>{g.sum(d, true) - g.cumsum(d) + g};
        };
      },
      *this);
}

Tensor Tensor::argsort(bool, std::int64_t d, bool descending) const {  // always stable
  const Tensor from = transpose(d, -1).contiguous(), made = empty(from.sizes(), kLong);
  const std::int64_t length = from.size(-1), count = length > 0 ? from.numel() / length : 0;
  with_type(scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < count; ++i) {
      const T* const row = from.const_data_ptr<T>() + i * length;
      std::int64_t* const places = made.data_ptr<std::int64_t>() + i * length;
      std::iota(places, places + length, std::int64_t{0});
      // What is not a number counts as the largest.
      const auto less = [](T a, T b) { return a < b || (a == a && b != b); };
      std::stable_sort(places, places + length, [&](std::int64_t a, std::int64_t b) {
        return descending ? less(row[b], row[a]) : less(row[a], row[b]);
      });
    }
  });
  return made.transpose(d, -1);
}

std::tuple<Tensor, Tensor> Tensor::sort(bool stable, std::int64_t d, bool descending) const {
  const Tensor places = argsort(stable, d, descending);
  return {gather(d, places), places};
}

std::tuple<Tensor, Tensor> Tensor::topk(std::int64_t count, std::int64_t d) const {
  if (count > size(d)) fail("the {} largest of {} numbers were asked for", count, size(d));
  const Tensor from = transpose(d, -1).contiguous();
  Dimensions shape = from.sizes();
  const std::int64_t length = from.size(-1), rows = length > 0 ? from.numel() / length : 0;
  shape[shape.size() - 1] = count;
  const Tensor places = empty(shape, kLong);
  with_type(scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    using Scored = std::pair<T, std::int64_t>;
    const auto better = [](const Scored& a, const Scored& b) {
      return (a.first != a.first && b.first == b.first) || a.first > b.first;
    };
    for (std::int64_t row = 0; row < rows && count > 0; ++row) {
      std::vector<Scored> queue;
      for (std::int64_t i = 0; i < length; ++i)
        queue.emplace_back(from.const_data_ptr<T>()[row * length + i], i);
      keep_best(queue, static_cast<std::size_t>(count), static_cast<std::size_t>(length), better);
      for (std::int64_t i = 0; i < count; ++i)
        places.data_ptr<std::int64_t>()[row * count + i] = queue[static_cast<std::size_t>(i)].second;
    }
  });
  const Tensor found = places.transpose(d, -1).contiguous();
  return {gather(d, found), found};
}

}  // namespace attend::ops
