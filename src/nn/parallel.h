// Cutting kernel work into pieces for torch's thread pool, the only pool used beside torch.
#pragma once

#include <ATen/Parallel.h>

#include "nn/torch.h"

namespace attend {

// True where our own kernels can take the tensor; elsewhere (double, CUDA) torch's operations do the work.
inline bool on_kernels(const Tensor& t) { return t.device().is_cpu() && t.scalar_type() == at::kFloat; }

// body(begin, end) over [0, count). `cost` is the work of one item in elements touched, so that small calls
// stay on one thread.
template <class Body>
void parallel_ranges(std::int64_t count, std::int64_t cost, const Body& body) {
  constexpr std::int64_t kWorthAThread = 16384;
  at::parallel_for(0, count, std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(1, cost)), body);
}

}  // namespace attend
