// Functions of tensors, with torch's names and meanings.
#pragma once

#include "tensor/handle.h"
#include "tensor/random.h"

#include <functional>

namespace attend::ops {

// Made.
Tensor empty(Dimensions shape, const TensorOptions& options = {});
Tensor zeros(Dimensions shape, const TensorOptions& options = {});
Tensor ones(Dimensions shape, const TensorOptions& options = {});
Tensor full(Dimensions shape, Scalar value, const TensorOptions& options);
Tensor empty_like(const Tensor& like);
Tensor zeros_like(const Tensor& like);
Tensor zeros_like(const Tensor& like, const TensorOptions& options);
Tensor ones_like(const Tensor& like);
Tensor ones_like(const Tensor& like, const TensorOptions& options);
Tensor full_like(const Tensor& like, Scalar value);
Tensor arange(Scalar end);
Tensor arange(Scalar end, const TensorOptions& options);
Tensor arange(Scalar first, Scalar end);
Tensor arange(Scalar first, Scalar end, const TensorOptions& options);
Tensor arange(Scalar first, Scalar end, Scalar step, const TensorOptions& options);
Tensor eye(std::int64_t size, const TensorOptions& options = {});
Tensor scalar_tensor(Scalar value, const TensorOptions& options = {});
Tensor from_memory(void* data, Dimensions shape, const TensorOptions& options = {});
Tensor from_memory(void* data, Dimensions shape, const std::function<void(void*)>& deleter,
                   const TensorOptions& options = {});
template <class T>
Tensor tensor(ArrayRef<T> values, std::optional<TensorOptions> options = {}) {
  Tensor made = empty({static_cast<std::int64_t>(values.size())}, scalar_type_of<T>());
  std::copy(values.begin(), values.end(), made.data<T>());
  return options ? made.to(*options) : made;
}
template <class T>
Tensor tensor(const std::vector<T>& values, std::optional<TensorOptions> options = {}) {
  return tensor(ArrayRef<T>(values), options);
}
Tensor tensor(std::initializer_list<std::int64_t> values, std::optional<TensorOptions> options = {});
inline Tensor tensor(std::initializer_list<float> values, std::optional<TensorOptions> options = {}) {
  return tensor(ArrayRef<float>(values), options);
}
inline Tensor tensor(std::initializer_list<int> values, std::optional<TensorOptions> options = {}) {
  return tensor(std::vector<std::int64_t>(values.begin(), values.end()), options);
}
inline Tensor tensor(std::initializer_list<double> values, std::optional<TensorOptions> options = {}) {
  return tensor(std::vector<float>(values.begin(), values.end()), options);
}

// Put together.
Tensor cat(TensorList parts, std::int64_t d = 0);
Tensor stack(TensorList parts, std::int64_t d = 0);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, Scalar b);
Tensor with_margins(const Tensor& x, Dimensions before_and_behind, Scalar value = 0);
Tensor embedding(const Tensor& table, const Tensor& ids, std::int64_t = -1);
Tensor repeat_interleave(const Tensor& times);
Tensor alias(const Tensor& x);  // another tensor of the same memory, on the tape too
inline Tensor argsort(const Tensor& x, bool stable, std::int64_t d, bool descending) {
  return x.argsort(stable, d, descending);
}
inline std::tuple<Tensor, Tensor> topk(const Tensor& x, std::int64_t count, std::int64_t d) {
  return x.topk(count, d);
}
std::tuple<Tensor, Tensor> unique(const Tensor& x, bool sorted);  // the second is not made

// Number by number.
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor gelu(const Tensor& x, const std::string& approximate = "none");
Tensor silu(const Tensor& x);
Tensor mish(const Tensor& x);
Tensor leaky_relu(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor entropy_terms(const Tensor& x);  // -x log x
inline Tensor rsqrt(const Tensor& x) {
  return x.rsqrt();
}
inline Tensor exp(const Tensor& x) {
  return x.exp();
}
inline Tensor floor(const Tensor& x) {
  return x.floor();
}
inline Tensor isfinite(const Tensor& x) {
  return x.isfinite();
}
inline void mul_out(Tensor& out, const Tensor& a, const Tensor& b) {
  out = a * b;
}
Tensor exp2(const Tensor& x);
Tensor pow(Scalar base, const Tensor& exponent);
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor logaddexp(const Tensor& a, const Tensor& b);
inline Tensor log(const Tensor& x) {
  return x.log();
}
inline Tensor square(const Tensor& x) {
  return x.square();
}
inline Tensor clamp(const Tensor& x, Scalar least, Scalar most) {
  return x.clamp(least, most);
}

// Along a dimension.
Tensor softmax(const Tensor& x, std::int64_t d, std::optional<ScalarType> type = {});
Tensor log_softmax(const Tensor& x, std::int64_t d, std::optional<ScalarType> type = {});
Tensor logsumexp(const Tensor& x, Dimensions d, bool keep = false);
Tensor vector_norm(const Tensor& x, Scalar power = 2, Dimensions dims = {}, bool keep = false,
                   std::optional<ScalarType> type = {});
std::tuple<Tensor, Tensor> aminmax(const Tensor& x);
Tensor cosine_similarity(const Tensor& a, const Tensor& b, std::int64_t d);
Tensor layer_norm(const Tensor& x, Dimensions shape, const Tensor& weight, const Tensor& bias,
                  double epsilon);

// Products.
Tensor matmul(const Tensor& a, const Tensor& b);  // also of batches, which may be broadcast
Tensor mv(const Tensor& a, const Tensor& x);
inline Tensor mm(const Tensor& a, const Tensor& b) {
  return matmul(a, b);
}
Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
void addmm_out(Tensor& out, const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta = 1);
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t stride,
              std::int64_t padding, std::int64_t dilation, std::int64_t groups);  // of stride, dilation 1
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& x, bool full_matrices);      // an Error
Tensor bincount(const Tensor& x, const Tensor& weights, std::int64_t least);
Tensor pixel_shuffle(const Tensor& x, std::int64_t by);
Tensor resize_bicubic(const Tensor& x, Dimensions size, bool align_corners);

// Losses.
namespace Reduction {
enum Reduction { None, Mean, Sum };
}
Tensor cross_entropy_loss(const Tensor& scores, const Tensor& labels, const Tensor& weight = {},
                          std::int64_t reduction = Reduction::Mean, std::int64_t ignored = -100,
                          double smoothing = 0);
Tensor binary_cross_entropy_with_logits(const Tensor& scores, const Tensor& wanted, const Tensor& weight = {},
                                        const Tensor& positive = {},
                                        std::int64_t reduction = Reduction::Mean);
Tensor mse_loss(const Tensor& a, const Tensor& b, std::int64_t reduction = Reduction::Mean);

}  // namespace attend::ops
