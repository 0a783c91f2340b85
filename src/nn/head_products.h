// Products of every head's part of two matrices.
#pragma once

#include "tensor/tensor.h"

namespace attend {

// a [T, heads * D], b [R, heads * D] -> [heads, T, R]: row t of head h is that of a times all rows of b. Each
// row depends on nothing but its own of a.
Tensor head_products(const Tensor& a, const Tensor& b, std::int64_t heads);

}  // namespace attend
