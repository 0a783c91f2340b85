// Describes a product of tensors as a kernels::MatrixProduct.
#pragma once

#include "kernels/kernels.h"

namespace attend {

// C = A B in float32, everything but B: a [m, k] with any strides, c [m, n] with contiguous columns.
template <class Tensor>
kernels::MatrixProduct product_of(const Tensor& a, const Tensor& c) {
  kernels::MatrixProduct m;
  m.rows = a.size(0);
  m.depth = a.size(1);
  m.columns = c.size(1);
  m.a = a.template const_data<float>();
  m.a_row = a.stride(0);
  m.a_column = a.stride(1);
  m.c = c.template data<float>();
  m.c_row = c.stride(0);
  return m;
}

// What the kernels do after a product: activation(. + bias) + residual. Both may be undefined. Their elements
// are contiguous, except that rows of the residual may be apart.
template <class Product, class Tensor>
void finish_with(Product& m, const Tensor& bias, kernels::Activation activation, const Tensor& residual) {
  if (bias.defined()) m.bias = bias.template const_data<float>();
  m.activation = activation;
  if (residual.defined()) {
    m.residual = residual.template const_data<float>();
    m.residual_row = residual.stride(0);
  }
}

// B [k, n] in place, with any strides; the row stride must not be 0, which would mean a packed B.
template <class Tensor>
void point_at(kernels::MatrixProduct& m, const Tensor& b) {
  m.b = b.template const_data<float>();
  m.b_row = b.stride(0);
  m.b_column = b.stride(1);
}

}  // namespace attend
