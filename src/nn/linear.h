// Matrix products: y = activation(x W^T + b) + residual. This class owns all weight matrices.
#pragma once

#include "nn/adapters.h"
#include "nn/matrix_product.h"
#include "nn/packed_matrix.h"
#include "nn/pass.h"
#include "nn/spec.h"
#include "tensor/tensor.h"

namespace attend {

// As torch's functions of these names, through our kernels where they apply.
Tensor activate(const Tensor& x, Activation activation);

// A weight packed for the kernel, remade when the weight changes (training) and kept otherwise (inference);
// or what has taken its place.
class PackedWeight {
 public:
  const float* get(const Tensor& weight);  // [out, in] -> panels of W^T
  void prepare(const Tensor& weight);      // get() before it is needed, where the kernels will do the work

  // Products are those of this matrix from here on, and the weight is not read again.
  void replace(std::shared_ptr<const PackedMatrix> matrix) { replacement_ = std::move(matrix); }
  const std::shared_ptr<const PackedMatrix>& replacement() const { return replacement_; }

 private:
  Tensor panels_;
  const void* source_ = nullptr;
  std::uint32_t version_ = 0;
  std::shared_ptr<const PackedMatrix> replacement_;
};

// activation(x W^T + b) + residual for a weight that somebody owns. packed null: the weight is
// packed for this use alone, where that pays.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, PackedWeight* packed,
              Activation activation = Activation::none, const Tensor& residual = {});

// x [T, in] -> [T, out]: the class that owns a matrix, and knows what adapters add to it.
class LinearImpl : public Module {
 public:
  LinearImpl(std::int64_t in, std::int64_t out, bool with_bias = true);
  Tensor forward(const Tensor& x, Pass& pass, Activation activation = Activation::none,
                 const Tensor& residual = {});
  // The same with a bias that somebody else owns.
  Tensor with_bias(const Tensor& x, const Tensor& other, Pass& pass);
  // `count` columns of the result from number `first` on: [T, count].
  Tensor part(const Tensor& x, std::int64_t first, std::int64_t count, Pass& pass);
  // Computes with this matrix in place of the weight, which is let go and does not learn; adapters may.
  void pack(std::shared_ptr<const PackedMatrix> matrix);
  const PackedMatrix* packed() const { return packed_.replacement().get(); }  // null: none

  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined
  std::vector<MatrixAdapter> adapters;
  bool stays_float = false;  // it is never kept in fewer bits

 private:
  // In training every use would pack the weight anew.
  PackedWeight* kept() { return packed_.replacement() ? &packed_ : nullptr; }

  PackedWeight packed_;
};
ATTEND_MODULE(Linear);

}  // namespace attend
