// The end of every sublayer: a projection, dropout, the residual addition.
#pragma once

#include "nn/dropout.h"
#include "nn/linear.h"

namespace attend {

// dropout(projection(x)) + residual, if there is one; without dropout in one kernel call.
inline Tensor project_add(Linear& projection, const Tensor& x, const Tensor& residual, double dropout,
                          Pass& pass) {
  if (pass.rate(dropout) == 0) return projection(x, pass, Activation::none, residual);
  if (!residual.defined()) return attend::dropout(projection(x, pass), dropout, pass);
  return dropout_add(projection(x, pass), residual, dropout, pass);
}

}  // namespace attend
