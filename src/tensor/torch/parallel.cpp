// The one file compiled with OpenMP: without it at::parallel_for, a template, runs on one thread. The
// run-time library is the one libtorch brings (cmake/FindLibtorch.cmake), never a second one.
#include "tensor/parallel.h"

#include "base/cores.h"
#include "base/parallel.h"

#include <algorithm>

#include <ATen/Parallel.h>

#ifndef _OPENMP
#error "compile this file with -fopenmp"
#endif

namespace attend {
namespace {

void use_threads(std::size_t count) {
  static const int usual = std::min(at::get_num_threads(), static_cast<int>(usable_cores()));
  at::set_num_threads(count > 0 ? static_cast<int>(count) : usual);
}

[[maybe_unused]] const bool following = (follow_thread_count(use_threads), true);

}  // namespace

void parallel_ranges(std::int64_t count, std::int64_t cost,
                     const std::function<void(std::int64_t, std::int64_t)>& body) {
  at::parallel_for(0, count, worth_a_thread(cost), body);
}

int parallel_threads() {
  return at::get_num_threads();
}

}  // namespace attend
