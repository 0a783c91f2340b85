// What tests need of tensors and nothing else does, where they are our own: torch has these.
#pragma once

#include "tensor/tensor.h"

namespace attend {

// Of the memory that a tensor keeps, not of what it shows.
inline std::size_t bytes_kept_by(const Tensor& x) {
#ifdef ATTEND_TORCH
  return x.storage().nbytes();
#else
  std::int64_t last = 0;  // number, of those it reaches
  for (std::int64_t d = 0; d < x.dim(); ++d) last += (x.size(d) - 1) * x.stride(d);
  return static_cast<std::size_t>((last + 1) * x.element_size());
#endif
}

}  // namespace attend

#ifndef ATTEND_TORCH
#include "base/random.h"

#include <cmath>
#include <ostream>

namespace attend::host {

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

// In [0, 1), and of the normal distribution; not torch's numbers.
inline Tensor rand(IntArrayRef shape) {
  Random random(++seed_of_tests());
  const Tensor made = empty(shape);
  for (std::int64_t i = 0; i < made.numel(); ++i)
    made.data_ptr<float>()[i] = static_cast<float>(random.below(1 << 24)) / (1 << 24);
  return made;
}

inline Tensor randn(IntArrayRef shape) {
  return ((rand(shape) + 1e-7).log() * -2).sqrt() * cos(rand(shape) * 6.283185307179586);
}

inline std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  out << "[" << fmt::format("{}", fmt::join(x.sizes().vec(), ", ")) << "]:";
  for (const Tensor all = x.to(kFloat).flatten(); std::int64_t i : {0, 1, 2, 3})
    if (i < all.numel()) out << " " << all[i].item<float>();
  return out;
}

}  // namespace attend::host
#endif
