// Tensors that one process has and all get.
#pragma once

#include "parallel/ranks.h"
#include "tensor/tensor.h"

namespace attend {

// In place: the numbers of process `root`, in messages of some megabytes, whatever the tensors' sizes. All
// give tensors of the same sizes and types in the same order.
void hand_out(Ranks& ranks, std::span<const Tensor> tensors, std::int64_t root = 0);

// Who of `ranks` processes keeps what of these sizes, so that all have about as much: the largest first, to
// the one that has least. Follows from the sizes alone.
std::vector<std::int64_t> share_out(std::span<const std::int64_t> sizes, std::int64_t ranks);

}  // namespace attend
