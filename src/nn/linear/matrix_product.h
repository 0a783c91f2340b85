// Matrix products with our own kernel, and their precision.
#pragma once

#include "kernels/kernels.h"
#include "nn/pass/pass.h"
#include "tensor/tensor.h"

namespace attend {

// a [m, k] times b [k, n] (either may be a transposed view), float32 on the CPU, with our own kernel.
Tensor matrix_product(const Tensor& a, const Tensor& b);
// The same into c [m, n], or added to it.
void matrix_product(const Tensor& c, const Tensor& a, const Tensor& b, bool add);

// A right factor b [k, n] of several products. It is packed once in the kernel's order if the `rows` of all
// left factors together make that worthwhile. Only for operands that are on_kernels(); rounded if products
// are rounded when it is made.
class RightFactor {
 public:
  RightFactor(const Tensor& b, std::int64_t rows);
  // c [m, n] = a [m, k] b + bias [n] (undefined: none), or added to c.
  void multiply(const Tensor& c, const Tensor& a, const Tensor& bias = {}, bool add = false) const;

 private:
  Tensor b_;       // if it stays unpacked
  Tensor panels_;  // else: of float32, or of pairs of bfloat16 as int32
};

// While an object exists, this thread's products are rounded as in Pass::bfloat16, or not. A differentiated
// function remembers the setting, and its gradient uses it too. Only for this folder: others use a PassScope.
class Bfloat16Products {
 public:
  explicit Bfloat16Products(bool on);
  ~Bfloat16Products();
  Bfloat16Products(const Bfloat16Products&) = delete;
  Bfloat16Products& operator=(const Bfloat16Products&) = delete;

  static bool available();  // whether the machine has such instructions
  static bool on();

 private:
  bool before_;
};

// While an object exists, this thread computes as a pass says: with its precision, and with or without
// gradients. Every function that takes a Pass makes one. Code that calls functions without a Pass, such as a
// loss on a head's scores, makes one around them. Nested scopes combine: products are rounded, or gradients
// off, if either says so.
class PassScope {
 public:
  explicit PassScope(const Pass& pass)
      : products_(pass.bfloat16 || Bfloat16Products::on()), gradients_(pass.gradients && recording()) {}

 private:
  Bfloat16Products products_;
  Recording gradients_;
};

// For code in this folder that keeps a matrix in the kernels' order.

// The product on all threads.
void run(const kernels::MatrixProduct& m);
// b [k, n], with any strides, as panels of float32, or of pairs of bfloat16 as int32.
Tensor panels_of(const Tensor& b);
Tensor pairs_of(const Tensor& b);
Tensor pairs_of_panels(const float* panels, std::int64_t depth, std::int64_t columns);
void point_at_pairs(kernels::MatrixProduct& m, const Tensor& pairs);
// Whether a product has too few rows to make packing worthwhile.
bool few(std::int64_t rows, std::int64_t columns);

}  // namespace attend
