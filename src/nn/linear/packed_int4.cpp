#include "kernels/int8/int4.h"
#include "nn/linear/packed_parts.h"

namespace attend {
namespace {

using kernels::Int4Matrix;
using kernels::Int8Product;

class Int4Weights : public PackedMatrix {
 public:
  Int4Weights(const Tensor& weight, const AfterSome& after_some)
      : Int4Weights(weight.size(0), weight.size(1)) {
    const std::int64_t room = 17 * kernels::kInt4Group * kernels::int4_groups(in_);
    pack_in_parts(weight, kernels::kInt8Panel, 4096 * in_, after_some,
                  [&](const WeightNumbers& from, std::int64_t begin, std::int64_t end) {
                    std::vector<float> scratch(static_cast<std::size_t>(room));
                    kernels::int8_kernels().pack_int4(matrix_, from.first, from.row, from.column, begin, end,
                                                      scratch.data());
                  });
  }

  Tensor multiply(const Tensor& x, const Tensor& bias, Activation activation,
                  const Tensor& residual) const override {
    return product(matrix_, x, bias, activation, residual);
  }

  Tensor part(const Tensor& x, std::int64_t first, std::int64_t count) const override {
    const std::int64_t before = first % kernels::kInt8Panel, begin = first - before,
                       groups = kernels::int4_groups(in_);
    Int4Matrix some = matrix_;
    some.columns = before + count;
    some.numbers += kernels::int4_size(in_, begin);
    some.steps += begin * groups;
    some.starts += begin * groups;
    some.scales += begin;
    some.sums += begin;
    return product(some, x, {}, Activation::none, {}).narrow(1, before, count).contiguous();
  }

  Tensor rows(const Tensor& ids) const override {
    return rows_by(ids, in_, [&](std::int64_t n, float* to) { kernels::int4_column(matrix_, n, to); });
  }

  std::int64_t bytes() const override {
    std::size_t all = 0;
    for (const Tensor& t : {numbers_, steps_, starts_, scales_, sums_}) all += t.bytes();
    return static_cast<std::int64_t>(all);
  }
  WeightFormat format() const override { return WeightFormat::int4; }

  std::map<std::string, Tensor> stored() const override {
    const std::int64_t groups = kernels::int4_groups(in_);
    const Tensor numbers = ops::empty({out_, groups * kernels::kInt4Group / 2}, kByte),
                 steps = ops::empty({out_, groups}, kByte), starts = ops::empty({out_, groups}, kChar);
    auto number = numbers.accessor<std::uint8_t, 2>(), step = steps.accessor<std::uint8_t, 2>();
    auto start = starts.accessor<std::int8_t, 2>();
    for_each_group([&](std::int64_t n, std::int64_t g, std::int64_t at, const auto& byte) {
      step[n][g] = matrix_.steps[at];
      start[n][g] = matrix_.starts[at];
      for (std::int64_t k = 0; k < kernels::kInt4Group; k += 2) {
        const auto half = [&](std::int64_t i) { return i % 8 < 4 ? byte(i) & 15 : byte(i) >> 4; };
        number[n][(g * kernels::kInt4Group + k) / 2] = static_cast<std::uint8_t>(half(k) | half(k + 1) << 4);
      }
    });
    return {{"", numbers},
            {"_step", steps},
            {"_start", starts},
            {"_scale", scales_.narrow(0, 0, out_).unsqueeze(1)}};
  }

  // From the tensors of stored().
  Int4Weights(std::int64_t in, const Tensor& numbers, const Tensor& steps, const Tensor& starts,
              const Tensor& scales)
      : Int4Weights(numbers.size(0), in) {
    for (Tensor* all : {&numbers_, &steps_, &starts_, &scales_, &sums_}) all->zero_();
    scales_.narrow(0, 0, out_).copy_(scales.squeeze(1));
    const auto number = numbers.accessor<std::uint8_t, 2>(), step = steps.accessor<std::uint8_t, 2>();
    const auto start = starts.accessor<std::int8_t, 2>();
    for_each_group([&](std::int64_t n, std::int64_t g, std::int64_t at, const auto& byte) {
      matrix_.steps[at] = step[n][g];
      matrix_.starts[at] = start[n][g];
      for (std::int64_t k = 0; k < kernels::kInt4Group; ++k) {
        const std::uint8_t both = number[n][(g * kernels::kInt4Group + k) / 2];
        const int half = k % 2 == 0 ? both & 15 : both >> 4;
        const int integer = half * step[n][g] + start[n][g];
        if (integer < -127 || integer > 127)
          fail("row {}: {} times the step {} plus the start {} is not between -127 and 127", n, half,
               int{step[n][g]}, int{start[n][g]});
        matrix_.sums[n] += integer;
        byte(k) = static_cast<std::uint8_t>(byte(k) | (k % 8 < 4 ? half : half << 4));
      }
    });
  }

 private:
  Int4Weights(std::int64_t out, std::int64_t in) : PackedMatrix(out, in) {
    const std::int64_t columns = kernels::int8_panels(out) * kernels::kInt8Panel,
                       groups = kernels::int4_groups(in);
    numbers_ = ops::empty({kernels::int4_size(in, out)}, kByte);
    steps_ = ops::empty({columns * groups}, kByte);
    starts_ = ops::empty({columns * groups}, kChar);
    scales_ = ops::empty({columns}, kFloat);
    sums_ = ops::empty({columns}, kInt);
    matrix_ = {in,
               out,
               numbers_.data<std::uint8_t>(),
               steps_.data<std::uint8_t>(),
               starts_.data<std::int8_t>(),
               scales_.data<float>(),
               sums_.data<std::int32_t>(),
               /*rotated=*/true};
  }

  Tensor product(const Int4Matrix& matrix, const Tensor& given, const Tensor& bias, Activation activation,
                 const Tensor& given_residual) const {
    const Tensor x = checked(given), y = ops::empty({x.size(0), matrix.columns}, kFloat);
    const Tensor residual = given_residual.defined() ? given_residual.contiguous() : Tensor();
    const Int8Product m = int8_product(x, y, bias, activation, residual);
    run_in_pieces(m.rows, in_, m.columns, kernels::int8_panels(m.columns), kernels::int4_scratch(in_),
                  [&](auto... range) { kernels::int8_kernels().multiply_int4(matrix, m, range...); });
    return y;
  }

  // body(output, group, index of its step and start, byte(k): the byte of number k of the group)
  template <class Body>
  void for_each_group(const Body& body) const {
    const std::int64_t groups = kernels::int4_groups(in_);
    for (std::int64_t n = 0; n < out_; ++n)
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t panel = n / kernels::kInt8Panel, lane = n % kernels::kInt8Panel,
                           group = panel * groups + g;
        body(n, g, group * kernels::kInt8Panel + lane, [&](std::int64_t k) -> std::uint8_t& {
          return matrix_
              .numbers[((group * kernels::kInt4Group + k) / 8 * kernels::kInt8Panel + lane) * 4 + k % 4];
        });
      }
  }

  Tensor numbers_, steps_, starts_, scales_, sums_;
  Int4Matrix matrix_;
};

}  // namespace

std::shared_ptr<const PackedMatrix> make_int4(const Tensor& weight, const AfterSome& after_some) {
  return std::make_shared<Int4Weights>(weight, after_some);
}

std::shared_ptr<const PackedMatrix> restore_int4(const std::map<std::string, Tensor>& stored,
                                                 std::int64_t out, std::int64_t in) {
  const std::int64_t groups = kernels::int4_groups(in);
  const Tensor& scales = find_stored(stored, "_scale", kFloat, {out, 1});
  return std::make_shared<Int4Weights>(
      in, find_stored(stored, "", kByte, {out, groups * kernels::kInt4Group / 2}),
      find_stored(stored, "_step", kByte, {out, groups}), find_stored(stored, "_start", kChar, {out, groups}),
      scales);
}

}  // namespace attend
