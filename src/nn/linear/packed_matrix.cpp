#include "nn/linear/packed_matrix.h"

#include "nn/linear/linear.h"
#include "nn/linear/packed_parts.h"

#include <limits>

namespace attend {
namespace {

// Some rows of another matrix.
class PartOfMatrix : public PackedMatrix {
 public:
  PartOfMatrix(std::shared_ptr<const PackedMatrix> whole, std::int64_t in, std::int64_t first,
               std::int64_t count)
      : PackedMatrix(count, in), whole_(std::move(whole)), first_(first) {}

  Tensor multiply(const Tensor& x, const Tensor& bias, Activation activation,
                  const Tensor& residual) const override {
    Tensor y = part(x, 0, out_);
    if (bias.defined()) y.add_(bias);
    y = activate(y, activation);
    return residual.defined() ? y + residual : y;
  }
  Tensor part(const Tensor& x, std::int64_t first, std::int64_t count) const override {
    return whole_->part(x, first_ + first, count);
  }
  Tensor rows(const Tensor& ids) const override { return whole_->rows(ids + first_); }
  std::int64_t bytes() const override { return 0; }
  WeightFormat format() const override { return whole_->format(); }
  std::map<std::string, Tensor> stored() const override { fail("a part of a matrix cannot be stored"); }

 private:
  std::shared_ptr<const PackedMatrix> whole_;
  std::int64_t first_;
};

}  // namespace

std::shared_ptr<const PackedMatrix> PackedMatrix::part_of(std::shared_ptr<const PackedMatrix> whole,
                                                          std::int64_t first, std::int64_t count) {
  const std::int64_t in = whole->in_;
  return std::make_shared<PartOfMatrix>(std::move(whole), in, first, count);
}

const Tensor& find_stored(const std::map<std::string, Tensor>& stored, const std::string& what,
                          ScalarType type, const std::vector<std::int64_t>& shape) {
  const auto found = stored.find(what);
  if (found == stored.end()) fail("expected a tensor of the same name and \"{}\", found none", what);
  if (found->second.type() != type || found->second.sizes() != Dimensions(shape))
    fail("{}: expected {} {}, found {} {}", what.empty() ? "the weight" : what, ops::name_of(type),
         Dimensions(shape), ops::name_of(found->second.type()), found->second.sizes());
  return found->second;
}

kernels::Int8Product int8_product(const Tensor& x, const Tensor& y, const Tensor& bias, Activation activation,
                                  const Tensor& residual) {
  kernels::Int8Product m{.rows = x.size(0), .columns = y.size(1)};
  m.x = x.const_data<float>();
  m.x_row = x.stride(0);
  m.y = y.data<float>();
  m.y_row = y.size(1);
  finish_with(m, bias, activation, residual);
  return m;
}

Tensor PanelMatrix::multiply(const Tensor& x, const Tensor& bias, Activation activation,
                             const Tensor& residual) const {
  return product(0, out_, x, bias, activation, residual);
}

Tensor PanelMatrix::part(const Tensor& x, std::int64_t first, std::int64_t count) const {
  const std::int64_t before = first % panel(), begin = first - before;
  return product(begin, before + count, x, {}, Activation::none, {}).narrow(1, before, count).contiguous();
}

Tensor PanelMatrix::product(std::int64_t first, std::int64_t columns, const Tensor& given, const Tensor& bias,
                            Activation activation, const Tensor& given_residual) const {
  const Tensor x = checked(given), y = ops::empty({x.size(0), columns}, kFloat);
  const Tensor residual = given_residual.defined() ? given_residual.contiguous() : Tensor();
  kernels::MatrixProduct m = product_of(x, y);
  finish_with(m, bias, activation, residual);
  multiply_panels(m, first);
  return y;
}

std::shared_ptr<const PackedMatrix> PackedMatrix::make(const Tensor& weight, WeightFormat format,
                                                       const AfterSome& after_some) {
  if (!ops::is_floating(weight.type()))
    fail("weights as {}: expected floating-point numbers, found {}", name(format),
         ops::name_of(weight.type()));
  const bool integers = format == WeightFormat::int8 || format == WeightFormat::int4;
  if (integers && weight.size(1) > kernels::kInt8LargestDepth)
    fail("weights as {}: a matrix has {} inputs, but 32-bit sums are limited to {}", name(format),
         weight.size(1), kernels::kInt8LargestDepth);
  switch (format) {
    case WeightFormat::int8:
      return make_int8(weight, after_some);
    case WeightFormat::int4:
      return make_int4(weight, after_some);
    case WeightFormat::float16:
      if (weight.numel() > 0 && weight.type() != kHalf) {
        const auto [min, max] = ops::aminmax(weight.to(kFloat));
        if (after_some) after_some();
        if (const double size = std::max(-min.item<double>(), max.item<double>()); size >= 65520)
          fail(
              "weights as float16: a matrix contains {:g} (or its negative), but the maximum is 65504; use "
              "bfloat16",
              size);
      }
      return make_float16(weight, after_some);
    case WeightFormat::bfloat16:
      return make_bfloat16(weight, after_some);
    case WeightFormat::float32:
      return make_float32(weight, after_some);
    case WeightFormat::blocks:
      break;
  }
  fail("unknown format {}", name(format));
}

std::shared_ptr<const PackedMatrix> PackedMatrix::restore(const std::map<std::string, Tensor>& stored,
                                                          std::int64_t out, std::int64_t in,
                                                          WeightFormat format) {
  if (format == WeightFormat::int8) return restore_int8(stored, out, in);
  if (format == WeightFormat::int4) return restore_int4(stored, out, in);
  fail("stored weights as {}: expected int8 or int4", name(format));
}

Tensor PackedMatrix::checked(const Tensor& x) const {
  if (!on_kernels(x) || x.dim() != 2 || x.size(1) != in_)
    fail("a packed matrix expects float32 rows of {} numbers on the CPU, found {} {}", in_,
         ops::name_of(x.type()), x.sizes());
  return x.stride(1) == 1 ? x : x.contiguous();
}

void release(Tensor& parameter) {
  parameter.set_data(
      ops::full({}, std::numeric_limits<float>::quiet_NaN(), kFloat).expand(parameter.sizes()));
}

}  // namespace attend
