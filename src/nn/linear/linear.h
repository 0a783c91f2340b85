// Matrix products: y = activation(x W^T + b) + residual. This class owns all weight matrices.
#pragma once

#include "nn/linear/adapters.h"
#include "nn/linear/matrix_product.h"
#include "nn/linear/packed_matrix.h"
#include "nn/pass/pass.h"
#include "nn/spec/spec.h"
#include "tensor/tensor.h"

namespace attend {

// Like torch's functions of these names; uses our kernels if they apply.
Tensor activate(const Tensor& x, Activation activation);

// A weight packed for the kernel: packed again when the weight changes (training), else once (inference). Or
// its replacement.
class PackedWeight {
 public:
  const float* get(const Tensor& weight);  // [out, in] -> panels of W^T
  void prepare(const Tensor& weight);      // calls get() early, if the kernels will do the work

  // Products use this matrix from here on, and the weight is not read again.
  void replace(std::shared_ptr<const PackedMatrix> matrix) { replacement_ = std::move(matrix); }
  const std::shared_ptr<const PackedMatrix>& replacement() const { return replacement_; }

 private:
  Tensor panels_;
  const void* source_ = nullptr;
  std::uint32_t version_ = 0;
  std::shared_ptr<const PackedMatrix> replacement_;
};

// activation(x W^T + b) + residual for a weight with another owner. packed null: the weight is packed only
// for this call, if that pays off.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, PackedWeight* packed,
              Activation activation = Activation::none, const Tensor& residual = {});

// x [T, in] -> [T, out]: owns the matrix, and applies the adapters to it.
class LinearImpl : public Module {
 public:
  LinearImpl(std::int64_t in, std::int64_t out, bool with_bias = true);
  Tensor forward(const Tensor& x, Pass& pass, Activation activation = Activation::none,
                 const Tensor& residual = {});
  // The same with a bias that has another owner.
  Tensor with_bias(const Tensor& x, const Tensor& other, Pass& pass);
  // `count` columns of the result, from column `first` on: [T, count].
  Tensor part(const Tensor& x, std::int64_t first, std::int64_t count, Pass& pass);
  // Computes with this matrix instead of the weight, which is freed and not trained; adapters may be.
  void pack(std::shared_ptr<const PackedMatrix> matrix);
  const PackedMatrix* packed() const { return packed_.replacement().get(); }  // null: none

  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined
  std::vector<MatrixAdapter> adapters;
  bool stays_float = false;  // it is never quantized

 private:
  // In training every use would pack the weight again.
  PackedWeight* kept() { return packed_.replacement() ? &packed_ : nullptr; }

  PackedWeight packed_;
};
ATTEND_MODULE(Linear);

}  // namespace attend
