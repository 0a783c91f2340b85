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

// The only copy of W [out, in] and what is computed with it.
class PackedMatrix {
 public:
  // Of floating-point numbers on the CPU, with any strides. Error for a matrix that the format cannot hold.
  // `after_some`, if given, is called now and then: what has been read of the weight by then is not read
  // again.
  static std::shared_ptr<const PackedMatrix> make(const Tensor& weight, WeightFormat format,
                                                  const std::function<void()>& after_some = {});
  // Rows `first` to first + count - 1 of W as a matrix of their own, which reads the whole one's numbers.
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

  // What a file keeps of one in fewer bits, by what follows the parameter's name there: "" and, of integers,
  // "_scale" and others. First dimensions are outputs.
  virtual std::map<std::string, Tensor> stored() const = 0;
  // The same matrix again, to the last bit. Error for tensors that are missing or misshapen.
  static std::shared_ptr<const PackedMatrix> restore(const std::map<std::string, Tensor>& stored,
                                                     std::int64_t out, std::int64_t in, WeightFormat format);

  Tensor dequantized() const { return rows(ops::arange(out_, kLong)); }  // [out, in]

 protected:
  PackedMatrix(std::int64_t out, std::int64_t in) : out_(out), in_(in) {}
  // x as float32 rows, each of them contiguous. Error unless [T, in].
  Tensor checked(const Tensor& x) const;

  std::int64_t out_, in_;
};

// Lets go of a parameter's numbers, which something else holds from now on: of the same shape, without
// memory, NaN wherever it is read.
void release(Tensor& parameter);

}  // namespace attend
