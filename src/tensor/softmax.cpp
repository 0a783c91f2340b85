// Softmax, log-softmax and logsumexp.
#include "kernels/kernels.h"
#include "tensor/device.h"
#include "tensor/reduce.h"

#include <cmath>

namespace attend::ops {
namespace {

// The softmax of x along dimension d, or its logarithm: by f for double precision, else by the kernel.
template <class F>
Tensor along(const Tensor& x, std::int64_t d, bool logarithm, F f) {
  if (x.dim() == 0) return along(x.unsqueeze(0), 0, logarithm, f).squeeze(0);
  if (Device* const device = x.device()) {
    const Tensor made = empty(x.sizes(), x.type(), device);
    if (x.numel() > 0)
      device->softmax(array_of(made), array_of(x), static_cast<std::int64_t>(x.wrapped(d)), logarithm);
    return made;
  }
  const Tensor rows = x.transpose(d, -1).contiguous(), made = empty_like(rows);
  const std::int64_t length = rows.size(-1), count = length > 0 ? rows.numel() / length : 0;
  if (rows.type() == kDouble) {
    made.copy_(rows);
    for (std::int64_t i = 0; i < count; ++i) f(made.data<double>() + i * length, length);
  } else {
    const auto kernel = logarithm ? kernels::kernels().log_softmax : kernels::kernels().softmax;
    const float* const from = rows.const_data<float>();
    float* const to = made.data<float>();
    const std::int64_t grain = 1 + 4096 / std::max<std::int64_t>(1, length);  // rows per thread
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
  T max = -std::numeric_limits<T>::infinity();
  for (std::int64_t j = 0; j < n; ++j)
    if (row[j] > max || row[j] != row[j]) max = row[j];
  return max;
}

template <class T>
T log_of_sum(const T* row, std::int64_t n) {
  const T max = largest(row, n), shift = std::isinf(max) ? 0 : max;
  double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) sum += static_cast<double>(std::exp(row[j] - shift));
  return static_cast<T>(std::log(sum)) + shift;
}

// The gradient of softmax or log_softmax, row by row, from its result y.
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
  if (result.device() != nullptr) {
    if (logarithms) return gradient - result.exp() * gradient.sum(d, true);
    return (gradient - (gradient * result).sum(d, true)) * result;
  }
  const Tensor y = result.transpose(d, -1).contiguous(),
               g = gradient.to(result.type()).transpose(d, -1).contiguous(), made = empty_like(y);
  const std::int64_t length = y.size(-1), count = length > 0 ? y.numel() / length : 0;
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    parallel_for(static_cast<std::size_t>(count),
                 static_cast<std::size_t>(1 + 4096 / std::max<std::int64_t>(1, length)),
                 [&](std::size_t begin, std::size_t end) {
                   for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i)
                     softmax_gradient(made.data<T>() + i * length, y.const_data<T>() + i * length,
                                      g.const_data<T>() + i * length, length, logarithms);
                 });
  };
  y.type() == kDouble ? run(double{}) : run(float{});
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
  const Tensor given = x.to(type.value_or(x.type()));
  return with_softmax_rule(given, d, false, [&] {
    return along(given, d, false, [](double* row, std::int64_t n) {
      const double max = largest(row, n);
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += row[j] = std::exp(row[j] - max);
      for (std::int64_t j = 0; j < n; ++j) row[j] /= sum;
    });
  });
}

Tensor Tensor::softmax(std::int64_t d) const {
  return ops::softmax(*this, d);
}

Tensor log_softmax(const Tensor& x, std::int64_t d, std::optional<ScalarType> type) {
  const Tensor given = x.to(type.value_or(x.type()));
  return with_softmax_rule(given, d, true, [&] {
    return along(given, d, true, [](double* row, std::int64_t n) {
      const double max = largest(row, n);
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += std::exp(row[j] - max);
      const double shift = std::log(sum);
      for (std::int64_t j = 0; j < n; ++j) row[j] = row[j] - max - shift;
    });
  });
}

Tensor logsumexp(const Tensor& x, const Dimensions& dims, bool keep) {
  const auto compute = [&] {
    if (Device* const device = x.device(); device != nullptr && x.numel() > 0) {
      const Tensor made = empty(ones_along(x, dims), x.type(), device);
      device->logsumexp(array_of(made), array_of(x), dims);
      return made.view(shape_along(x, dims, keep));
    }
    const RowsAlong rows = rows_along(x, dims);
    const auto run = [&](auto zero) {
      using T = decltype(zero);
      return reduce<T>(rows, keep, [&](std::int64_t i) {
        return log_of_sum(rows.x.const_data<T>() + i * rows.length, rows.length);
      });
    };
    return x.type() == kDouble ? run(double{}) : run(float{});
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
  return ops::logsumexp(*this, Dimensions(d), keep);
}

}  // namespace attend::ops
