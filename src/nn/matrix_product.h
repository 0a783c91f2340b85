// Matrix products with our own kernel, and their precision.
#pragma once

#include "kernels/kernels.h"
#include "nn/pass.h"
#include "tensor/tensor.h"

namespace attend {

// a [m, k] times b [k, n] (either may be a transposed view), float32 on the CPU through our own kernel.
Tensor matrix_product(const Tensor& a, const Tensor& b);
// The same into c [m, n], or added to it.
void matrix_product(const Tensor& c, const Tensor& a, const Tensor& b, bool add);

// A right factor b [k, n] of several products, written once in the order the kernel reads it where the `rows`
// of all left factors together are worth it. For operands on_kernels() alone; rounded if the products are
// when it is made.
class RightFactor {
 public:
  RightFactor(const Tensor& b, std::int64_t rows);
  // c [m, n] = a [m, k] b + bias [n] (undefined: none), or added to c.
  void multiply(const Tensor& c, const Tensor& a, const Tensor& bias = {}, bool add = false) const;

 private:
  Tensor b_;       // where it stays as it is
  Tensor panels_;  // else: of float32, or of pairs of bfloat16 as int32
};

// While one lives, the products of this thread are rounded as Pass::bfloat16 has it, or are not. A function
// that is differentiated remembers which, and its gradient does as it did. For the functions of this folder
// alone: others say it by a PassScope.
class Bfloat16Products {
 public:
  explicit Bfloat16Products(bool on);
  ~Bfloat16Products();
  Bfloat16Products(const Bfloat16Products&) = delete;
  Bfloat16Products& operator=(const Bfloat16Products&) = delete;

  static bool available();  // has the machine such instructions?
  static bool on();

 private:
  bool before_;
};

// While one lives, this thread computes as a pass says: in its precision, with gradients or without. Whatever
// takes a Pass makes one of its own; what computes with parts that take none, as a loss on a head's scores,
// makes one around all of it. Within another, what either asks for holds: rounded products, no gradients.
class PassScope {
 public:
  explicit PassScope(const Pass& pass)
      : products_(pass.bfloat16 || Bfloat16Products::on()), gradients_(pass.gradients && recording()) {}

 private:
  Bfloat16Products products_;
  Recording gradients_;
};

// For those of this folder that keep a matrix in the kernels' order.

// The product on all threads.
void run(const kernels::MatrixProduct& m);
// b [k, n] of any strides as panels of float32, or of pairs of bfloat16 as int32.
Tensor panels_of(const Tensor& b);
Tensor pairs_of(const Tensor& b);
Tensor pairs_of_panels(const float* panels, std::int64_t depth, std::int64_t columns);
void point_at_pairs(kernels::MatrixProduct& m, const Tensor& pairs);
// A matrix that meets few rows is not worth writing down in another order first.
bool few(std::int64_t rows, std::int64_t columns);

}  // namespace attend
