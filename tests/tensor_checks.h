// Helpers of tests for tensors: comparing, drawing, printing.
#pragma once

#include "base/random.h"
#include "tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <ostream>

namespace attend {

// The size of the memory that a tensor keeps alive, not of its own elements.
inline std::size_t bytes_kept_by(const Tensor& x) {
  std::int64_t last = 0;  // the last element that it reaches
  for (std::int64_t d = 0; d < x.dim(); ++d) last += (x.size(d) - 1) * x.stride(d);
  return static_cast<std::size_t>((last + 1) * x.element_size());
}

}  // namespace attend

namespace attend::ops {

inline bool equal(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.eq(b).all().item<bool>();
}

inline bool allclose(const Tensor& a, const Tensor& b, double relative = 1e-5, double absolute = 1e-8) {
  return (a - b).abs().le(b.abs() * relative + absolute).logical_or(a.eq(b)).all().item<bool>();
}

inline std::uint64_t& seed_of_tests() {
  static std::uint64_t seed = 0;
  return seed;
}

inline void manual_seed(std::uint64_t seed) {
  seed_of_tests() = seed;
}

// In [0, 1).
inline Tensor rand(const Dimensions& shape, ScalarType type = kFloat) {
  Random random(++seed_of_tests());
  const Tensor made = empty(shape, kDouble);
  for (std::int64_t i = 0; i < made.numel(); ++i)
    made.data<double>()[i] = static_cast<double>(random.below(1 << 24)) / (1 << 24);
  return made.to(type);
}

// Normally distributed.
inline Tensor randn(const Dimensions& shape, ScalarType type = kFloat) {
  // One after the other: compilers differ in which operand of a product they evaluate first.
  const Tensor direction = cos(rand(shape, kDouble) * 6.283185307179586);
  const Tensor radius = ((rand(shape, kDouble) + 1e-7).log() * -2).sqrt();
  return (radius * direction).to(type);
}
inline Tensor randn_like(const Tensor& x) {
  return randn(x.sizes(), x.type());
}

// Integers in [0, end).
inline Tensor randint(std::int64_t end, const Dimensions& shape) {
  return (rand(shape, kDouble) * static_cast<double>(end)).floor().to(kLong);
}
// The numbers in [0, count) in random order.
inline Tensor randperm(std::int64_t count) {
  return rand({count}).argsort(true, 0, false);
}

// Losses by their definitions.
inline Tensor log_sigmoid(const Tensor& x) {
  return -logaddexp(zeros_like(x), -x);
}
inline Tensor reduced(const Tensor& each, std::int64_t how) {
  return how == Reduction::Sum ? each.sum() : how == Reduction::Mean ? each.mean() : each;
}
// Divergence of `wanted` from exp(x); where `wanted` is 0, the loss is 0.
inline Tensor kl_div(const Tensor& x, const Tensor& wanted, std::int64_t how, bool log_target = false) {
  if (log_target) return reduced(wanted.exp() * (wanted - x), how);
  return reduced(-entropy_terms(wanted) - wanted * x, how);
}
// For pairs that should point in the same direction.
inline Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, std::int64_t how) {
  return reduced(1 - cosine_similarity(a, b, 1), how);
}
inline Tensor one_hot(const Tensor& ids, std::int64_t count) {
  return ids.unsqueeze(-1).eq(arange(count, kLong)).to(kLong);
}

inline Tensor operator%(const Tensor& x, std::int64_t by) {
  return x.remainder(by);
}
inline double standard_deviation(const Tensor& x) {
  const Tensor apart = x.to(kDouble) - x.to(kDouble).mean();
  return std::sqrt(apart.square().sum().item<double>() / static_cast<double>(x.numel() - 1));
}

// From y with the gradient dy to the leaves.
inline void backward(const Tensor& y, const Tensor& dy) {
  run_backward({y}, {dy}, {}, /*keep_graph=*/false);
}

// Converts parameters to another type, for all handles.
inline void convert(const nn::Module& module, ScalarType type) {
  for (const Tensor& p : module.parameters()) p.set_data(p.detach().to(type));
}

inline std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  out << "[" << fmt::format("{}", fmt::join(x.sizes().vec(), ", ")) << "]:";
  const Tensor all = x.to(kDouble).flatten();
  for (std::int64_t i = 0; i < std::min<std::int64_t>(16, all.numel()); ++i)
    out << " " << all[i].item<double>();
  return out << (all.numel() > 16 ? " ..." : "");
}

}  // namespace attend::ops
