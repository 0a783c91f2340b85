// Products of two matrices, head by head.
#pragma once

#include "tensor/tensor.h"

namespace attend {

// a [T, heads * D], b [R, heads * D] -> [heads, T, R]: for each head, the products of all rows of a and b. A
// row of the result depends only on its own row of a.
Tensor head_products(const Tensor& a, const Tensor& b, std::int64_t heads);

}  // namespace attend
