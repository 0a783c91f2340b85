// The matrix products: y = activation(x W^T + b) + residual. All weight matrices live here.
#pragma once

#include "nn/adapters.h"
#include "nn/low_precision.h"
#include "nn/pass.h"
#include "nn/spec.h"
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
      : products_(pass.bfloat16 || Bfloat16Products::on()),
        gradients_(pass.gradients && at::GradMode::is_enabled()) {}

 private:
  Bfloat16Products products_;
  at::AutoGradMode gradients_;
};

// As torch's functions of these names, through our kernels where they apply.
Tensor activate(const Tensor& x, Activation activation);

// A weight packed for the kernel, remade when the weight changes (training) and kept otherwise (inference);
// or what has taken its place.
class PackedWeight {
 public:
  const float* get(const Tensor& weight);  // [out, in] -> panels of W^T
  void prepare(const Tensor& weight);      // get() before it is needed, where the kernels will do the work

  // Products are those of this matrix from here on, and the weight is not read again.
  void replace(std::shared_ptr<const LowPrecisionMatrix> matrix) { replacement_ = std::move(matrix); }
  const std::shared_ptr<const LowPrecisionMatrix>& replacement() const { return replacement_; }

 private:
  Tensor panels_;
  const void* source_ = nullptr;
  std::uint32_t version_ = 0;
  std::shared_ptr<const LowPrecisionMatrix> replacement_;
};

// activation(x W^T + b) + residual for a weight that somebody owns. packed null: the weight is
// packed for this use alone, where that pays.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, PackedWeight* packed,
              Activation activation = Activation::none, const Tensor& residual = {});

// x [T, in] -> [T, out]: the class that owns a matrix, and knows what adapters add to it.
class LinearImpl : public torch::nn::Module {
 public:
  LinearImpl(std::int64_t in, std::int64_t out, bool with_bias = true);
  Tensor forward(const Tensor& x, Pass& pass, Activation activation = Activation::none,
                 const Tensor& residual = {});
  // The same with a bias that somebody else owns.
  Tensor with_bias(const Tensor& x, const Tensor& other, Pass& pass);
  // `count` columns of the result from number `first` on: [T, count].
  Tensor part(const Tensor& x, std::int64_t first, std::int64_t count, Pass& pass);
  // Writes the weight in the order the kernels read it, and keeps that for as long as it does not change.
  // For inference: in training every use would write it anew, and the copy would only take memory.
  void pack();
  // Computes with this matrix in place of the weight, which is let go and does not learn; adapters may.
  void reduce(std::shared_ptr<const LowPrecisionMatrix> matrix);
  const LowPrecisionMatrix* reduced() const { return packed_.replacement().get(); }  // null: none

  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined
  std::vector<MatrixAdapter> adapters;

 private:
  PackedWeight* kept() { return keeps_packed_ ? &packed_ : nullptr; }

  PackedWeight packed_;
  bool keeps_packed_ = false;
};
TORCH_MODULE(Linear);

}  // namespace attend
