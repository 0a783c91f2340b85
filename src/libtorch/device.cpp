// Devices on libtorch's operations: a GPU, or the CPU, with which the same path is tested. An Array is
// described to libtorch as a tensor of the same memory; every function calls the operation of the same name.
#include "tensor/device.h"

#include <attend/export.h>

#include <stdexcept>

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/autograd.h>

namespace attend::ops {
namespace {

at::ScalarType type_of(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return at::kByte;
    case ScalarType::Char:
      return at::kChar;
    case ScalarType::Short:
      return at::kShort;
    case ScalarType::Int:
      return at::kInt;
    case ScalarType::Long:
      return at::kLong;
    case ScalarType::Half:
      return at::kHalf;
    case ScalarType::Float:
      return at::kFloat;
    case ScalarType::Double:
      return at::kDouble;
    case ScalarType::Bool:
      return at::kBool;
    case ScalarType::BFloat16:
      return at::kBFloat16;
  }
  throw std::logic_error("a type that libtorch does not have");
}

at::IntArrayRef list_of(const Dimensions& numbers) {
  return {numbers.begin(), numbers.size()};
}

template <class Work>
void with_gradients(const Work& work) {
  try {
    work();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw std::runtime_error(text.substr(0, text.find('\n')));
  }
}

template <class Work>
void plainly(const Work& work) {
  with_gradients([&] {
    const at::AutoDispatchBelowADInplaceOrView without_autograd;
    work();
  });
}

// What libtorch stores of a function for its gradient.
struct KeptFunction {
  std::vector<at::Tensor> inputs;
  at::Tensor result;
};

at::Tensor result_of(const FusedFunction& function, const std::vector<at::Tensor>& x) {
  switch (function.kind) {
    case Fused::attention: {
      const std::optional<at::Tensor> mask = x.size() > 3 ? std::optional(x[3]) : std::nullopt;
      return at::scaled_dot_product_attention(x[0], x[1], x[2], mask, /*dropout=*/0, function.causal && !mask,
                                              function.number);
    }
    case Fused::layer_norm:
      return at::layer_norm(x[0], x[1].sizes(), x[1], x[2], function.number);
    case Fused::rms_norm:
      return at::rms_norm(x[0], x[1].sizes(), x[1], function.number);
    case Fused::gelu:
      return at::gelu(x[0]);
    case Fused::gelu_tanh:
      return at::gelu(x[0], "tanh");
    case Fused::silu:
      return at::silu(x[0]);
  }
  throw std::logic_error("a function that libtorch does not have");
}

class TorchDevice final : public Device {
 public:
  explicit TorchDevice(const std::string& name) : device_(name) {}

  std::string name() const override { return "torch's " + device_.str(); }

  std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
    std::shared_ptr<std::byte> block;
    plainly([&] {
      const at::Tensor held = at::empty({static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1))},
                                        at::TensorOptions(at::kByte).device(device_));
      block = {static_cast<std::byte*>(held.data_ptr()), [held](std::byte*) {}};
    });
    return block;
  }

  void copy(const Array& to, const Array& from) override {
    plainly([&] { seen(to).copy_(seen(from)); });
  }
  void fill(const Array& to, Scalar value) override {
    plainly([&] {
      if (value.type() == kDouble)
        seen(to).fill_(value.to<double>());
      else
        seen(to).fill_(value.to<std::int64_t>());
    });
  }

  void unary(UnaryOperation operation, const Array& to_array, const Array& x_array) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      const at::Tensor x = seen(x_array);
      switch (operation) {
        case UnaryOperation::exp:
          return void(at::exp_out(to, x));
        case UnaryOperation::log:
          return void(at::log_out(to, x));
        case UnaryOperation::log2:
          return void(at::log2_out(to, x));
        case UnaryOperation::log1p:
          return void(at::log1p_out(to, x));
        case UnaryOperation::sqrt:
          return void(at::sqrt_out(to, x));
        case UnaryOperation::sin:
          return void(at::sin_out(to, x));
        case UnaryOperation::cos:
          return void(at::cos_out(to, x));
        case UnaryOperation::tanh:
          return void(at::tanh_out(to, x));
        case UnaryOperation::erf:
          return void(at::erf_out(to, x));
        case UnaryOperation::exp2:
          return void(at::exp2_out(to, x));
        case UnaryOperation::abs:
          return void(at::abs_out(to, x));
        case UnaryOperation::floor:
          return void(at::floor_out(to, x));
        case UnaryOperation::ceil:
          return void(at::ceil_out(to, x));
        case UnaryOperation::round:
          return void(at::round_out(to, x));
        case UnaryOperation::isfinite:
          return void(to.copy_(at::isfinite(x)));
      }
    });
  }

  void binary(BinaryOperation operation, const Array& to_array, const Array& a_array,
              const Array& b_array) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      const at::Tensor a = seen(a_array), b = seen(b_array);
      switch (operation) {
        case BinaryOperation::add:
          return void(at::add_out(to, a, b));
        case BinaryOperation::subtract:
          return void(at::sub_out(to, a, b));
        case BinaryOperation::multiply:
          return void(at::mul_out(to, a, b));
        case BinaryOperation::divide:
          return void(at::div_out(to, a, b));
        case BinaryOperation::power:
          return void(at::pow_out(to, a, b));
        case BinaryOperation::remainder:
          return void(at::remainder_out(to, a, b));
        case BinaryOperation::bits_and:
          return void(at::bitwise_and_out(to, a, b));
        case BinaryOperation::shift_right:
          return void(at::bitwise_right_shift_out(to, a, b));
        case BinaryOperation::equal:
          return void(at::eq_out(to, a, b));
        case BinaryOperation::unequal:
          return void(at::ne_out(to, a, b));
        case BinaryOperation::less:
          return void(at::lt_out(to, a, b));
        case BinaryOperation::less_or_equal:
          return void(at::le_out(to, a, b));
        case BinaryOperation::greater:
          return void(at::gt_out(to, a, b));
        case BinaryOperation::greater_or_equal:
          return void(at::ge_out(to, a, b));
        case BinaryOperation::both:
          return void(at::logical_and_out(to, a, b));
        case BinaryOperation::either:
          return void(at::logical_or_out(to, a, b));
      }
    });
  }

  void choose(const Array& to_array, const Array& condition, const Array& a, const Array& b) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      at::where_out(to, seen(condition), seen(a), seen(b));
    });
  }

  void matrix_product(const Array& to_array, const Array& a, const Array& b) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      at::matmul_out(to, seen(a), seen(b));
    });
  }

  // In libtorch's words. "medium" is bfloat16 where it has such products of float32 matrices, else TF32.
  void set_factors(DeviceFactors factors) override {
    plainly([&] {
      at::globalContext().setFloat32MatmulPrecision(factors == DeviceFactors::float32 ? "highest"
                                                    : factors == DeviceFactors::tf32  ? "high"
                                                                                      : "medium");
    });
  }

  std::shared_ptr<void> fused(const FusedFunction& function, const Array& to, std::span<const Array> inputs,
                              bool learns) override {
    auto kept = std::make_shared<KeptFunction>();
    with_gradients([&] {
      const at::AutoGradMode mode(learns);
      for (const Array& input : inputs)
        kept->inputs.push_back(seen(input).detach().requires_grad_(learns && input.type != kBool));
      kept->result = result_of(function, kept->inputs);
    });
    plainly([&] { seen(to).copy_(kept->result.detach()); });
    return learns ? kept : nullptr;
  }

  void fused_gradient(void* kept_function, std::span<const Array> gradients, const Array& gradient) override {
    const auto& kept = *static_cast<KeptFunction*>(kept_function);
    with_gradients([&] {
      const std::vector<at::Tensor> inputs(kept.inputs.begin(), kept.inputs.begin() + std::ssize(gradients)),
          found = torch::autograd::grad({kept.result}, inputs, {seen(gradient)}, /*retain_graph=*/true);
      const at::NoGradGuard no_gradients;
      for (std::size_t i = 0; i < found.size(); ++i) seen(gradients[i]).copy_(found[i]);
    });
  }

  // In int32, whose products keep the low 32 bits. Shifts to the right copy the sign, so it is masked.
  void dropout_mask(const Array& to_array, const Array& first_array,
                    const kernels::DropoutStream& stream) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      const at::Tensor first = seen(first_array);
      const auto word = [](std::uint32_t x) { return static_cast<std::int32_t>(x); };
      const auto mix = [&](at::Tensor& x) {
        x.bitwise_xor_(x.bitwise_right_shift(16).bitwise_and_(0xffff)).mul_(word(0x7feb352du));
        x.bitwise_xor_(x.bitwise_right_shift(15).bitwise_and_(0x1ffff)).mul_(word(0x846ca68bu));
        x.bitwise_xor_(x.bitwise_right_shift(16).bitwise_and_(0xffff));
      };
      const at::Tensor key =
          first.bitwise_right_shift(32).to(at::kInt).mul_(word(0x9e3779b9u)).add_(word(stream.key_low));
      at::Tensor x = first.bitwise_and(0xffffffff).to(at::kInt) +
                     at::arange(to.size(-1), first.options().dtype(at::kInt));
      x.bitwise_xor_(key);
      mix(x);
      x.add_(word(stream.key_high));
      mix(x);
      // Unsigned numbers are compared as signed ones with the highest bit flipped.
      constexpr std::uint32_t kHighest = 0x80000000u;
      to.copy_(x.bitwise_xor_(word(kHighest)).ge(word(stream.threshold ^ kHighest))).mul_(stream.kept);
    });
  }

  void sum(const Array& to_array, const Array& x, const Dimensions& dims) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      at::sum_out(to, seen(x), list_of(dims), /*keepdim=*/true);
    });
  }
  void extreme(const Array& to_array, const Array& x, const Dimensions& dims, bool largest) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      if (largest)
        at::amax_out(to, seen(x), list_of(dims), /*keepdim=*/true);
      else
        at::amin_out(to, seen(x), list_of(dims), /*keepdim=*/true);
    });
  }
  void logsumexp(const Array& to_array, const Array& x, const Dimensions& dims) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      at::logsumexp_out(to, seen(x), list_of(dims), /*keepdim=*/true);
    });
  }
  void argmax(const Array& to_array, const Array& x, std::int64_t d) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      const at::Tensor from = seen(x);
      at::argmax_out(to, x.type == kBool ? from.to(at::kByte) : from, d, /*keepdim=*/true);
    });
  }
  void softmax(const Array& to_array, const Array& x, std::int64_t d, bool logarithm) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      if (logarithm)
        at::log_softmax_out(to, seen(x), d);
      else
        at::softmax_out(to, seen(x), d);
    });
  }
  void cumsum(const Array& to_array, const Array& x, std::int64_t d) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      at::cumsum_out(to, seen(x), d);
    });
  }
  void argsort(const Array& to, const Array& x, std::int64_t d, bool descending) override {
    plainly([&] { seen(to).copy_(at::argsort(seen(x), /*stable=*/true, d, descending)); });
  }
  void topk(const Array& to, const Array& x, std::int64_t d) override {
    plainly(
        [&] { seen(to).copy_(std::get<1>(at::topk(seen(x), to.sizes[static_cast<std::size_t>(d)], d))); });
  }

  void select(const Array& to_array, const Array& x, std::int64_t d, const Array& places) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      at::index_select_out(to, seen(x), d, seen(places));
    });
  }
  void write_selected(const Array& to, std::int64_t d, const Array& places, const Array& values) override {
    plainly([&] { seen(to).index_copy_(d, seen(places), seen(values)); });
  }
  void add_selected(const Array& to, std::int64_t d, const Array& places, const Array& values) override {
    plainly([&] { seen(to).index_add_(d, seen(places), seen(values)); });
  }
  void gather(const Array& to_array, const Array& x, std::int64_t d, const Array& places) override {
    plainly([&] {
      at::Tensor to = seen(to_array);
      at::gather_out(to, seen(x), d, seen(places));
    });
  }
  void scatter(const Array& to, std::int64_t d, const Array& places, const Array& values) override {
    plainly([&] { seen(to).scatter_(d, seen(places), seen(values)); });
  }
  void scatter_add(const Array& to, std::int64_t d, const Array& places, const Array& values) override {
    plainly([&] { seen(to).scatter_add_(d, seen(places), seen(values)); });
  }
  void scatter_max(const Array& to, std::int64_t d, const Array& places, const Array& values) override {
    plainly([&] { seen(to).scatter_reduce_(d, seen(places), seen(values), "amax"); });
  }

 private:
  at::Tensor seen(const Array& array) const {
    return at::from_blob(
        array.data, list_of(array.sizes), list_of(array.strides),
        at::TensorOptions(type_of(array.type)).device(array.home ? at::Device(at::kCPU) : device_));
  }

  at::Device device_;
};

}  // namespace
}  // namespace attend::ops

// A device by libtorch's name, such as "cpu" or "cuda:0". Throws a std::exception if it cannot be used.
extern "C" ATTEND_API attend::ops::Device* attend_open_device(const char* name) {
  if (at::Device(name).is_cuda() && !at::hasCUDA())
    throw std::runtime_error("this libtorch has no CUDA, or finds no GPU");
  auto device = std::make_unique<attend::ops::TorchDevice>(name);
  device->allocate(1);
  return device.release();
}
