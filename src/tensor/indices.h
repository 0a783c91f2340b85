// Indices in tensors, for this folder only.
#pragma once

#include "tensor/handle.h"

#include <vector>

namespace attend::ops {

// The indices, checked to be from 0 to size - 1; negative ones count from the end where torch allows that.
std::vector<std::int64_t> checked(const Tensor& places, std::int64_t size, bool from_end = false);

}  // namespace attend::ops
