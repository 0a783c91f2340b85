// The end of every sublayer: a projection, dropout, the residual addition.
#pragma once

#include "nn/linear/linear.h"
#include "nn/pass/dropout.h"

namespace attend {

// What is added to a sublayer's result, and the dropout of the result before that. An undefined tensor is not
// added.
struct Residual {
  const Tensor& x;
  double dropout;
};

// dropout(projection(x)) + residual.x; without dropout in one kernel call.
inline Tensor project_add(Linear& projection, const Tensor& x, const Residual& residual, Pass& pass) {
  if (pass.rate(residual.dropout) == 0) return projection(x, pass, Activation::none, residual.x);
  if (!residual.x.defined()) return dropout(projection(x, pass), residual.dropout, pass);
  return dropout_add(projection(x, pass), residual.x, residual.dropout, pass);
}

}  // namespace attend
