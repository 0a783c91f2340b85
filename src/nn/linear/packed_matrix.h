// Matrices for inference, in the order in which the kernels read them, in float32 or quantized. A format
// rounds when the matrix is made; after that, a row of a product depends only on that row and the matrix.
#pragma once

#include <attend/weight_format.h>

#include "kernels/kernels.h"
#include "tensor/tensor.h"

#include <functional>
#include <map>

namespace attend {

using kernels::Activation;

// Whether attention also rounds its factors, to bfloat16, between matrices of this format.
constexpr bool attends_in_bfloat16(WeightFormat format) {
  return format != WeightFormat::float32 && format != WeightFormat::float16;
}

// Some rows of W [out, in] as a file stores them: numbers = scale * integer + start, for `size` (16 or 32)
// numbers of a row each.
struct NumberGroups {
  Tensor numbers;                                    // [out, in]
  Tensor scales = {}, starts = {};                   // [out, in / size]; starts may be undefined: 0
  std::int64_t size = 32, lowest = 0, highest = 15;  // the least and the largest integer
};

// Owns the only copy of W [out, in] and computes with it.
class PackedMatrix {
 public:
  // From floating-point numbers on the CPU, with any strides. An Error for a matrix that the format cannot
  // hold. `after_some`, if given, is called from time to time: what was read of the weight before is not read
  // again.
  static std::shared_ptr<const PackedMatrix> make(const Tensor& weight, WeightFormat format,
                                                  const std::function<void()>& after_some = {});
  // Of blocks, one part below the other. Null if they are not such numbers, or `in` is no multiple of 32.
  static std::shared_ptr<const PackedMatrix> of_groups(const std::vector<NumberGroups>& parts);
  // Rows `first` to first + count - 1 of W as a separate matrix that reads the numbers of `whole`.
  static std::shared_ptr<const PackedMatrix> part_of(std::shared_ptr<const PackedMatrix> whole,
                                                     std::int64_t first, std::int64_t count);
  virtual ~PackedMatrix() = default;

  // activation(x W^T + bias) + residual for x [T, in]: [T, out]. bias and residual may be undefined.
  virtual Tensor multiply(const Tensor& x, const Tensor& bias, Activation activation,
                          const Tensor& residual) const = 0;
  // Columns `first` to first + count - 1 of x W^T: [T, count].
  virtual Tensor part(const Tensor& x, std::int64_t first, std::int64_t count) const = 0;
  // Rows `ids` [n] of W as float32: [n, in].
  virtual Tensor rows(const Tensor& ids) const = 0;
  virtual std::int64_t bytes() const = 0;
  virtual WeightFormat format() const = 0;

  // The tensors that a file stores for a quantized matrix, by the suffix of the parameter's name: "" and, for
  // integers, "_scale" and others. First dimensions are outputs.
  virtual std::map<std::string, Tensor> stored() const = 0;
  // The same matrix again, to the last bit. An Error if tensors are missing or have the wrong shape.
  static std::shared_ptr<const PackedMatrix> restore(const std::map<std::string, Tensor>& stored,
                                                     std::int64_t out, std::int64_t in, WeightFormat format);

  Tensor dequantized() const { return rows(ops::arange(out_, kLong)); }  // [out, in]

 protected:
  PackedMatrix(std::int64_t out, std::int64_t in) : out_(out), in_(in) {}
  // x as float32 with contiguous rows. An Error unless it is [T, in].
  Tensor checked(const Tensor& x) const;

  std::int64_t out_, in_;
};

// Frees the memory of a parameter whose numbers something else holds now. It keeps its shape and reads as
// NaN.
void release(Tensor& parameter);

}  // namespace attend
