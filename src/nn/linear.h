// The matrix products: y = activation(x W^T + b) + residual. All weight matrices live here.
#pragma once

#include "nn/pass.h"
#include "nn/spec.h"
#include "nn/torch.h"

namespace attend {

// a [m, k] times b [k, n] (either may be a transposed view), float32 on the CPU through our own kernel.
Tensor matrix_product(const Tensor& a, const Tensor& b);
// c [m, n] += a [m, k] b [k, n], in place.
void add_matrix_product(Tensor& c, const Tensor& a, const Tensor& b);

// As torch's functions of these names, through our kernels where they apply.
Tensor activate(const Tensor& x, Activation activation);

// A weight packed for the kernel, remade when the weight changes (training) and kept otherwise (inference).
class PackedWeight {
 public:
  const float* get(const Tensor& weight);  // [out, in] -> panels of W^T

 private:
  Tensor panels_;
  const void* source_ = nullptr;
  std::uint32_t version_ = 0;
};

// x [T, in] -> [T, out].
class LinearImpl : public torch::nn::Module {
 public:
  LinearImpl(std::int64_t in, std::int64_t out, bool with_bias = true);
  Tensor forward(const Tensor& x, Activation activation = Activation::none, const Tensor& residual = {});

  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined

 private:
  PackedWeight packed_;
};
TORCH_MODULE(Linear);

// The same with a weight that somebody else owns (a tied head).
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, PackedWeight& packed,
              Activation activation = Activation::none, const Tensor& residual = {});

}  // namespace attend
