#include "nn/attention/memories.h"

namespace attend {

Tensor next_memory(const Tensor& past, const Tensor& states, const StackSpec& stack) {
  const std::int64_t L = states.size(1), max = *stack.memory;
  const Tensor read = states.narrow(1, 0, stack.remembered > 0 ? std::min(stack.remembered, L) : L);
  const Tensor all = past.defined() ? ops::cat({past, read}, 1) : read;
  const std::int64_t kept = max > 0 ? std::min(max, all.size(1)) : all.size(1);
  return all.narrow(1, all.size(1) - kept, kept);
}

}  // namespace attend
