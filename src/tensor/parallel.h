// Cuts the work of kernels into pieces for threads.
#pragma once

#include "tensor/tensor.h"

#include <functional>

namespace attend {

// Whether our kernels take the tensor. Others (double, or on a device) are computed by tensor operations.
inline bool on_kernels(const Tensor& t) {
  return t.type() == kFloat && t.device() == nullptr;
}

// Items of this cost are worth a thread of their own: so much is touched while another thread is told of it.
inline std::int64_t worth_a_thread(std::int64_t cost) {
  constexpr std::int64_t kWorthAThread = 16384;
  return std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(1, cost));
}

// body(begin, end) for pieces of [0, count) on several threads. `cost` is the work of one item in elements
// touched, so that small calls stay on one thread.
void parallel_ranges(std::int64_t count, std::int64_t cost,
                     const std::function<void(std::int64_t, std::int64_t)>& body);
int parallel_threads();  // how many threads a large call gets

// The largest share of `pieces` that one of the threads gets.
inline double largest_share(std::int64_t pieces) {
  const std::int64_t threads = parallel_threads(), largest = (pieces + threads - 1) / threads;
  return static_cast<double>(largest) / static_cast<double>(pieces);
}

}  // namespace attend
