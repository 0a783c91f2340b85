#include "nn/memories.h"

namespace attend {

Tensor next_memory(const Tensor& past, const Tensor& states, std::int64_t most) {
  const Tensor all = past.defined() ? at::cat({past, states}, 1) : states;
  const std::int64_t kept = most > 0 ? std::min(most, all.size(1)) : all.size(1);
  return all.narrow(1, all.size(1) - kept, kept);
}

}  // namespace attend
