// Sends tensors of one process to all.
#pragma once

#include "parallel/ranks.h"
#include "tensor/tensor.h"

namespace attend {

// In place: the values of process `root`, in messages of some megabytes, independent of the tensors' sizes.
// All processes pass tensors of the same sizes and types in the same order.
void hand_out(Ranks& ranks, std::span<const Tensor> tensors, std::int64_t root = 0);

// The memory of a contiguous tensor.
std::span<std::byte> bytes_of(const Tensor& tensor);

// Which of `ranks` processes keeps which of these sizes, so that all have about the same total: the largest
// first, each to the process with the smallest total. Depends only on the sizes.
std::vector<std::int64_t> share_out(std::span<const std::int64_t> sizes, std::int64_t ranks);

}  // namespace attend
