// Norms, and operations that use them.
#include "tensor/device.h"
#include "tensor/reduce.h"

#include <cmath>
#include <numeric>

namespace attend::ops {
namespace {

double sum_of_squares(const Tensor& x) {
  if (x.device() != nullptr) return x.to(kDouble).square().sum().item<double>();
  const Tensor all = x.contiguous();
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const T* const data = all.const_data<T>();
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
  return all.type() == kDouble ? run(double{}) : run(float{});
}

}  // namespace

Tensor vector_norm(const Tensor& x, Scalar power, const Dimensions& given, bool keep,
                   std::optional<ScalarType> type) {
  if (power.to<double>() != 2) fail("norms of power {} are not supported, only 2", power.to<double>());
  const Dimensions dims = given.empty() ? all_dims(x) : Dimensions(given);
  const ScalarType wanted = type.value_or(x.type());
  const auto compute = [&] {
    if (dims.size() == x.sizes().size() && !keep)
      return scalar_tensor(
          std::sqrt(sum_of_squares(is_floating(x.type()) && !is_reduced(x.type()) ? x : x.to(kDouble))),
          wanted);
    return x.to(kDouble).square().sum(dims, keep).sqrt().to(wanted);
  };
  return with_rule(
      compute,
      [&](const Tensor& y) {
        return [x = Saved(x), y = Saved::result(y), with_ones = ones_along(x, dims)](const Tensor& g) {
          const Tensor length = y().reshape(with_ones);  // a norm of 0 gets no gradient
          const Tensor share = g.reshape(with_ones) / where(length.eq(0), ones_like(length), length);
          return std::vector<Tensor>{x() * share};
        };
      },
      x);
}
Tensor Tensor::norm(Scalar power, std::int64_t d, bool keep) const {
  return vector_norm(*this, power, Dimensions(d), keep);
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, std::int64_t d) {
  const auto length = [d](const Tensor& x) { return x.norm(2, d).clamp_min(1e-8); };
  return (a * b).sum(d) / (length(a) * length(b));
}

Tensor layer_norm(const Tensor& x, const Dimensions&, const Tensor& weight, const Tensor& bias,
                  double epsilon) {
  if (x.device() != nullptr) return fused({Fused::layer_norm, epsilon}, x.sizes(), {x, weight, bias});
  const Tensor centred = x - x.mean(-1, true);
  return centred * rsqrt(centred.square().mean(-1, true) + epsilon) * weight + bias;
}

Tensor rms_norm(const Tensor& x, const Dimensions&, const Tensor& weight, double epsilon) {
  if (x.device() != nullptr) return fused({Fused::rms_norm, epsilon}, x.sizes(), {x, weight});
  return x * rsqrt(x.square().mean(-1, true) + epsilon) * weight;
}

}  // namespace attend::ops
