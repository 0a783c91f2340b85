// Functions of tensors. A function that PyTorch has too does the same as there.
#pragma once

#include "tensor/handle.h"
#include "tensor/random.h"

#include <functional>
#include <span>

namespace attend::ops {

// Creation.
Tensor empty(const Dimensions& shape, ScalarType type = kFloat, Device* device = nullptr);
Tensor zeros(const Dimensions& shape, ScalarType type = kFloat, Device* device = nullptr);
Tensor ones(const Dimensions& shape, ScalarType type = kFloat);
Tensor full(const Dimensions& shape, Scalar value, ScalarType type, Device* device = nullptr);
Tensor empty_like(const Tensor& like);
Tensor zeros_like(const Tensor& like);
Tensor zeros_like(const Tensor& like, ScalarType type);
Tensor ones_like(const Tensor& like);
Tensor ones_like(const Tensor& like, ScalarType type);
Tensor full_like(const Tensor& like, Scalar value);
Tensor arange(Scalar end);
Tensor arange(Scalar end, ScalarType type);
Tensor arange(Scalar first, Scalar end);
Tensor arange(Scalar first, Scalar end, ScalarType type);
Tensor arange(Scalar first, Scalar end, Scalar step, ScalarType type);
Tensor eye(std::int64_t size, ScalarType type = kFloat);
Tensor scalar_tensor(Scalar value, ScalarType type = kFloat);
Tensor from_memory(void* data, const Dimensions& shape, ScalarType type = kFloat);
Tensor from_memory(void* data, const Dimensions& shape, const std::function<void(void*)>& deleter,
                   ScalarType type = kFloat);
template <class T>
Tensor tensor(std::span<const T> values, std::optional<ScalarType> type = {}) {
  Tensor made = empty({static_cast<std::int64_t>(values.size())}, scalar_type_of<T>());
  std::copy(values.begin(), values.end(), made.data<T>());
  return type ? made.to(*type) : made;
}
template <class T>
Tensor tensor(const std::vector<T>& values, std::optional<ScalarType> type = {}) {
  return tensor(std::span<const T>(values), type);
}
Tensor tensor(std::initializer_list<std::int64_t> values, std::optional<ScalarType> type = {});
inline Tensor tensor(std::initializer_list<float> values, std::optional<ScalarType> type = {}) {
  return tensor(std::vector<float>(values), type);
}
inline Tensor tensor(std::initializer_list<int> values, std::optional<ScalarType> type = {}) {
  return tensor(std::vector<std::int64_t>(values.begin(), values.end()), type);
}
inline Tensor tensor(std::initializer_list<double> values, std::optional<ScalarType> type = {}) {
  return tensor(std::vector<float>(values.begin(), values.end()), type);
}

// Joining.
Tensor cat(const std::vector<Tensor>& parts, std::int64_t d = 0);
Tensor stack(const std::vector<Tensor>& parts, std::int64_t d = 0);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, Scalar b);
// Pads with `value`: the number of elements before and after each dimension, starting with the last
// dimension.
Tensor with_margins(const Tensor& x, const std::vector<std::int64_t>& margins, Scalar value = 0);
Tensor embedding(const Tensor& table, const Tensor& ids, std::int64_t = -1);
Tensor repeat_interleave(const Tensor& times);
Tensor alias(const Tensor& x);  // another tensor with the same memory, also on the tape
inline Tensor argsort(const Tensor& x, bool stable, std::int64_t d, bool descending) {
  return x.argsort(stable, d, descending);
}
inline std::tuple<Tensor, Tensor> topk(const Tensor& x, std::int64_t count, std::int64_t d) {
  return x.topk(count, d);
}
std::tuple<Tensor, Tensor> unique(const Tensor& x, bool sorted);  // the second tensor is not computed

// Element by element.
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
inline Tensor clamp(const Tensor& x, Scalar min, Scalar max) {
  return x.clamp(min, max);
}

// Along a dimension.
Tensor softmax(const Tensor& x, std::int64_t d, std::optional<ScalarType> type = {});
Tensor log_softmax(const Tensor& x, std::int64_t d, std::optional<ScalarType> type = {});
Tensor logsumexp(const Tensor& x, const Dimensions& d, bool keep = false);
Tensor vector_norm(const Tensor& x, Scalar power = 2, const Dimensions& dims = {}, bool keep = false,
                   std::optional<ScalarType> type = {});
std::tuple<Tensor, Tensor> aminmax(const Tensor& x);
Tensor cosine_similarity(const Tensor& a, const Tensor& b, std::int64_t d);
Tensor layer_norm(const Tensor& x, const Dimensions& shape, const Tensor& weight, const Tensor& bias,
                  double epsilon);
Tensor rms_norm(const Tensor& x, const Dimensions& shape, const Tensor& weight, double epsilon);

// Products.
// softmax(scale q k^T) v by the own kernel of a device, where all of these are: q [B, heads, Lq, D], k and v
// [B, heads, Lk, D] -> [B, heads, Lq, D]. Each query sees the keys for which `seen`, a bool that is broadcast
// to [B, heads, Lq, Lk], is true. If that is undefined it sees all, or if `causal` those up to its own place.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& seen, bool causal,
                 double scale);
Tensor matmul(const Tensor& a, const Tensor& b);  // also of batches, which may be broadcast
Tensor mv(const Tensor& a, const Tensor& x);
inline Tensor mm(const Tensor& a, const Tensor& b) {
  return matmul(a, b);
}
Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
void addmm_out(Tensor& out, const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta = 1);
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
// Only stride 1 and dilation 1.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t stride,
              std::int64_t padding, std::int64_t dilation, std::int64_t groups);
// Of a matrix; full_matrices must be false.
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& x, bool full_matrices);
Tensor bincount(const Tensor& x, const Tensor& weights, std::int64_t min);
Tensor pixel_shuffle(const Tensor& x, std::int64_t by);
Tensor resize_bicubic(const Tensor& x, const Dimensions& size, bool align_corners);

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
