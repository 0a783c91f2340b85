#include "nn/linear/packed_parts.h"

namespace attend {
namespace {

using kernels::Int8Matrix;
using kernels::Int8Product;

class Int8Weights : public PackedMatrix {
 public:
  Int8Weights(const Tensor& weight, const AfterSome& after_some)
      : Int8Weights(weight.size(0), weight.size(1)) {
    pack_in_parts(weight, kernels::kInt8Panel, 64 * in_, after_some,
                  [&](const WeightNumbers& from, std::int64_t begin, std::int64_t end) {
                    std::vector<float> scratch(static_cast<std::size_t>(kernels::kInt8Panel * in_));
                    kernels::int8_kernels().pack(matrix_, from.first, from.row, from.column, begin, end,
                                                 scratch.data());
                  });
  }

  Int8Weights(const Tensor& integers, const Tensor& scales)
      : Int8Weights(integers.size(0), integers.size(1)) {
    weights_.zero_();
    scales_.zero_().narrow(0, 0, out_).copy_(scales.squeeze(1));
    sums_.zero_();
    const std::int8_t* const from = integers.const_data<std::int8_t>();
    const std::int64_t row = integers.stride(0), step = integers.stride(1);
    parallel_ranges(kernels::int8_panels(out_), 16 * in_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t panel = begin; panel < end; ++panel) {
        const std::int64_t first = panel * kernels::kInt8Panel,
                           last = std::min(out_, first + kernels::kInt8Panel);
        for (std::int64_t k = 0; k < in_; ++k)
          for (std::int64_t n = first; n < last; ++n) {
            const std::int8_t integer = from[n * row + k * step];
            matrix_.weights[matrix_.place(first, k / 4) + (n - first) * 4 + k % 4] = integer;
            matrix_.sums[n] += integer;
          }
      }
    });
  }

  Tensor multiply(const Tensor& x, const Tensor& bias, Activation activation,
                  const Tensor& residual) const override {
    return product(matrix_, x, bias, activation, residual);
  }

  Tensor part(const Tensor& x, std::int64_t first, std::int64_t count) const override {
    const std::int64_t before = first % kernels::kInt8Panel, begin = first - before;
    Int8Matrix some = matrix_;
    some.columns = before + count;
    some.weights += matrix_.place(begin, 0);
    some.scales += begin;
    some.sums += begin;
    return product(some, x, {}, Activation::none, {}).narrow(1, before, count).contiguous();
  }

  Tensor rows(const Tensor& ids) const override {
    return rows_by(ids, in_,
                   [&](std::int64_t n, float* to) { kernels::int8_kernels().column(matrix_, n, to); });
  }

  std::int64_t bytes() const override {
    return static_cast<std::int64_t>(weights_.bytes() + scales_.bytes() + sums_.bytes());
  }
  WeightFormat format() const override { return WeightFormat::int8; }

  std::map<std::string, Tensor> stored() const override {
    const Tensor integers = ops::empty({out_, in_}, kChar);
    std::int8_t* const to = integers.data<std::int8_t>();
    parallel_ranges(out_, in_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n)
        for (std::int64_t k = 0; k < in_; ++k)
          to[n * in_ + k] = matrix_.weights[matrix_.place(n, k / 4) + k % 4];
    });
    return {{"", integers}, {"_scale", scales_.narrow(0, 0, out_).unsqueeze(1)}};
  }

 private:
  Int8Weights(std::int64_t out, std::int64_t in) : PackedMatrix(out, in) {
    const std::int64_t columns = kernels::int8_panels(out) * kernels::kInt8Panel;
    weights_ = ops::empty({kernels::int8_size(in, out)}, kChar);
    scales_ = ops::empty({columns}, kFloat);
    sums_ = ops::empty({columns}, kInt);
    matrix_ = {in,
               out,
               weights_.data<std::int8_t>(),
               scales_.data<float>(),
               sums_.data<std::int32_t>(),
               /*rotated=*/true};
  }

  Tensor product(const Int8Matrix& matrix, const Tensor& given, const Tensor& bias, Activation activation,
                 const Tensor& given_residual) const {
    const Tensor x = checked(given), y = ops::empty({x.size(0), matrix.columns}, kFloat);
    const Tensor residual = given_residual.defined() ? given_residual.contiguous() : Tensor();
    const Int8Product m = int8_product(x, y, bias, activation, residual);
    run_in_pieces(m.rows, in_, m.columns, kernels::int8_panels(m.columns), kernels::int8_scratch(in_),
                  [&](auto... range) { kernels::int8_kernels().multiply(matrix, m, range...); });
    return y;
  }

  Tensor weights_, scales_, sums_;
  Int8Matrix matrix_;
};

}  // namespace

std::shared_ptr<const PackedMatrix> make_int8(const Tensor& weight, const AfterSome& after_some) {
  return std::make_shared<Int8Weights>(weight, after_some);
}

std::shared_ptr<const PackedMatrix> restore_int8(const std::map<std::string, Tensor>& stored,
                                                 std::int64_t out, std::int64_t in) {
  const Tensor& scales = find_stored(stored, "_scale", kFloat, {out, 1});
  const Tensor& integers = find_stored(stored, "", kChar, {out, in});
  if (integers.min().item<std::int64_t>() < -127)
    fail("expected integers from -127 to 127, found -128, which machines multiply in different ways");
  if (in > kernels::kInt8LargestDepth)
    fail("it has {} inputs, but 32-bit sums are limited to {}", in, kernels::kInt8LargestDepth);
  return std::make_shared<Int8Weights>(integers, scales);
}

}  // namespace attend
