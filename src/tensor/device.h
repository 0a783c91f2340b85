// Devices: memory outside the program's own (a GPU's), and the operations on tensors there.
//
// A tensor whose Memory has a device (handle.h) is an address that only that device reads. Views work as
// usual, because they only change the address, the sizes and the strides. Every operation that reads or
// writes elements asks for the device of its operands and calls one of the functions below, so nothing above
// this folder needs to know where a tensor is. Operands in the program's memory are copied to the device;
// reading a tensor of a device in the program copies it once (Tensor::const_data).
#pragma once

#include "kernels/dropout_stream.h"
#include "tensor/handle.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attend::ops {

// Elements in some memory, as a device sees them.
struct Array {
  void* data = nullptr;
  ScalarType type = kFloat;
  Dimensions sizes, strides;
  bool home = false;  // in the program's memory
};

enum class UnaryOperation {
  exp,
  log,
  log2,
  log1p,
  sqrt,
  sin,
  cos,
  tanh,
  erf,
  exp2,
  abs,
  floor,
  ceil,
  round,
  isfinite
};
enum class BinaryOperation {
  add,
  subtract,
  multiply,
  divide,
  power,
  remainder,  // has the sign of the divisor
  bits_and,
  shift_right,
  equal,  // this and the following give booleans
  unequal,
  less,
  less_or_equal,
  greater,
  greater_or_equal,
  both,
  either
};

enum class DeviceFactors { float32, tf32, bfloat16 };

// Functions that a device may have kernels of its own for, with gradients: one launch instead of ten.
enum class Fused { attention, layer_norm, rms_norm, gelu, gelu_tanh, silu };
struct FusedFunction {
  Fused kind;
  double number = 0;    // attention: the factor of scores; norms: epsilon
  bool causal = false;  // attention
};

// Results go to `to`, whose sizes are those of the result. Unless a comment says more, the types of all
// arrays are equal, and operands in the program's memory have no dimensions (one number).
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "cuda:0"

  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  // Of any types. One of both may be in the program's memory; then it returns when the elements are there.
  virtual void copy(const Array& to, const Array& from) = 0;
  virtual void fill(const Array& to, Scalar value) = 0;

  virtual void unary(UnaryOperation operation, const Array& to, const Array& x) = 0;
  virtual void binary(BinaryOperation operation, const Array& to, const Array& a, const Array& b) = 0;
  virtual void choose(const Array& to, const Array& condition, const Array& a, const Array& b) = 0;

  virtual void matrix_product(const Array& to, const Array& a,
                              const Array& b) = 0;  // [..., m, k] [..., k, n]
  // The factors of matrix products from now on: float32, TF32 or bfloat16, if the device is faster with them.
  virtual void set_factors(DeviceFactors factors) = 0;
  // fused() below. If it `learns`, the result is what fused_gradient() needs, which may read the inputs
  // again.
  virtual std::shared_ptr<void> fused(const FusedFunction& function, const Array& to,
                                      std::span<const Array> inputs, bool learns) = 0;
  // Of all inputs that are not bool.
  virtual void fused_gradient(void* kept, std::span<const Array> gradients, const Array& gradient) = 0;
  // ops::dropout_mask(): `to` [..., n] float, `first` [..., 1] int64.
  virtual void dropout_mask(const Array& to, const Array& first, const kernels::DropoutStream& stream) = 0;
  // `to` has size 1 along `dims`.
  virtual void sum(const Array& to, const Array& x, const Dimensions& dims) = 0;
  virtual void extreme(const Array& to, const Array& x, const Dimensions& dims, bool largest) = 0;
  virtual void logsumexp(const Array& to, const Array& x, const Dimensions& dims) = 0;
  virtual void argmax(const Array& to, const Array& x, std::int64_t d) = 0;
  virtual void softmax(const Array& to, const Array& x, std::int64_t d, bool logarithm) = 0;
  virtual void cumsum(const Array& to, const Array& x, std::int64_t d) = 0;
  virtual void argsort(const Array& to, const Array& x, std::int64_t d, bool descending) = 0;  // stable
  // The places of the largest numbers along d, as many as `to` has.
  virtual void topk(const Array& to, const Array& x, std::int64_t d) = 0;

  // With places along d: `places` [n] or, for gather and the scatters, with the shape of the values. All are
  // on the device, int64, and in range.
  virtual void select(const Array& to, const Array& x, std::int64_t d, const Array& places) = 0;
  virtual void write_selected(const Array& to, std::int64_t d, const Array& places, const Array& values) = 0;
  virtual void add_selected(const Array& to, std::int64_t d, const Array& places, const Array& values) = 0;
  virtual void gather(const Array& to, const Array& x, std::int64_t d, const Array& places) = 0;
  virtual void scatter(const Array& to, std::int64_t d, const Array& places, const Array& values) = 0;
  virtual void scatter_add(const Array& to, std::int64_t d, const Array& places, const Array& values) = 0;
  virtual void scatter_max(const Array& to, std::int64_t d, const Array& places, const Array& values) = 0;
};

Array array_of(const Tensor& x);

// The device of these tensors' elements; null: the program's memory. An Error if there are several.
Device* common_device(std::initializer_list<const Tensor*> tensors);
template <class... Tensors>
Device* device_of(const Tensors&... tensors) {
  return common_device({&tensors...});
}
// x as an operand on the device: copied to it unless it is there, or is one number without dimensions.
Tensor operand_on(Device& device, const Tensor& x);
// The same, but a number is copied too.
Tensor placed_on(Device& device, const Tensor& x);

// A function of `inputs`, at least one of them on a device, by the device's own kernel. `mask`: one more
// input, bool, or undefined.
Tensor fused(const FusedFunction& function, const Dimensions& sizes, std::vector<Tensor> inputs,
             const Tensor& mask = {});

}  // namespace attend::ops
