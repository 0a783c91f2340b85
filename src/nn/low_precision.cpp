#include "nn/low_precision.h"

#include "kernels/half.h"
#include "kernels/int8/int4.h"
#include "tensor/parallel.h"

#include <limits>

namespace attend {
namespace {

using kernels::HalfFormat;
using kernels::Int4Matrix;
using kernels::Int8Matrix;
using kernels::Int8Product;

// multiply(row_begin, row_end, panel_begin, panel_end, scratch) on all threads. They take blocks of rows
// where there are many, or where that shares the work better, else panels of columns. For panels each thread
// quantizes the rows for itself: that is less than to wait for another.
template <class Multiply>
void run(std::int64_t rows, std::int64_t depth, std::int64_t columns, std::int64_t panels,
         std::int64_t scratch_bytes, const Multiply& multiply) {
  constexpr std::int64_t kTile = 8;  // rows
  const std::int64_t tiles = (rows + kTile - 1) / kTile;
  const auto piece = [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
                         std::int64_t panel_end) {
    static thread_local std::vector<std::uint32_t> scratch;
    if (const auto words = static_cast<std::size_t>(scratch_bytes / 4 + 1); scratch.size() < words)
      scratch.resize(words);
    multiply(row_begin, row_end, panel_begin, panel_end, reinterpret_cast<std::uint8_t*>(scratch.data()));
  };
  // A multiply-add counts as a sixty-fourth of an element touched.
  if (tiles >= 16 * parallel_threads() || largest_share(tiles) < 0.9 * largest_share(panels))
    parallel_ranges(tiles, kTile * depth * columns / 64, [&](std::int64_t begin, std::int64_t end) {
      piece(begin * kTile, std::min(rows, end * kTile), 0, panels);
    });
  else
    parallel_ranges(panels, depth * (4 + rows / 4),
                    [&](std::int64_t begin, std::int64_t end) { piece(0, rows, begin, end); });
}

// x [T, in], y [T, columns] and what else is around the integers.
Int8Product product_of(const Tensor& x, const Tensor& y, const Tensor& bias, Activation activation,
                       const Tensor& residual) {
  Int8Product m{.rows = x.size(0), .columns = y.size(1)};
  m.x = x.const_data_ptr<float>();
  m.x_row = x.stride(0);
  m.y = y.data_ptr<float>();
  m.y_row = y.size(1);
  if (bias.defined()) m.bias = bias.const_data_ptr<float>();
  m.activation = activation;
  if (residual.defined()) {
    m.residual = residual.const_data_ptr<float>();
    m.residual_row = residual.stride(0);
  }
  return m;
}

using AfterSome = std::function<void()>;

// pack(begin, end) for the panels of a weight on all threads, a part of some megabytes after the other.
template <class Pack>
void pack_in_parts(const Tensor& weight, std::int64_t panels, std::int64_t cost, const AfterSome& after_some,
                   const Pack& pack) {
  constexpr std::int64_t kNumbers = 4 << 20;
  const std::int64_t parts = 1 + weight.numel() / kNumbers, some = (panels + parts - 1) / parts;
  for (std::int64_t first = 0; first < panels; first += some) {
    parallel_ranges(std::min(some, panels - first), cost,
                    [&](std::int64_t begin, std::int64_t end) { pack(first + begin, first + end); });
    if (after_some) after_some();
  }
}

// Rows `ids` of a matrix of which column(n, to) writes one.
template <class Column>
Tensor rows_by(const Tensor& ids, std::int64_t width, const Column& column) {
  const Tensor places = ids.to(at::kLong).contiguous(), found = at::empty({ids.size(0), width}, at::kFloat);
  const std::int64_t* const id = places.const_data_ptr<std::int64_t>();
  float* const to = found.data_ptr<float>();
  parallel_ranges(ids.size(0), width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) column(id[i], to + i * width);
  });
  return found;
}

const Tensor& find(const std::map<std::string, Tensor>& stored, const std::string& what, at::ScalarType type,
                   const std::vector<std::int64_t>& shape) {
  const auto found = stored.find(what);
  if (found == stored.end()) fail("expected a tensor of the same name and \"{}\", found none", what);
  if (found->second.scalar_type() != type || found->second.sizes() != at::IntArrayRef(shape))
    fail("{}: expected {} {}, found {} {}", what.empty() ? "the weight" : what, at::toString(type),
         at::IntArrayRef(shape), at::toString(found->second.scalar_type()), found->second.sizes());
  return found->second;
}

class Int8Weights : public LowPrecisionMatrix {
 public:
  Int8Weights(const Tensor& weight, const AfterSome& after_some)
      : Int8Weights(weight.size(0), weight.size(1)) {
    const float* const from = weight.const_data_ptr<float>();
    pack_in_parts(weight, kernels::int8_panels(out_), 64 * in_, after_some,
                  [&](std::int64_t begin, std::int64_t end) {
                    std::vector<float> scratch(static_cast<std::size_t>(kernels::kInt8Panel * in_));
                    kernels::int8_kernels().pack(matrix_, from, weight.stride(0), weight.stride(1), begin,
                                                 end, scratch.data());
                  });
  }

  Int8Weights(const Tensor& integers, const Tensor& scales)
      : Int8Weights(integers.size(0), integers.size(1)) {
    weights_.zero_();
    scales_.zero_().narrow(0, 0, out_).copy_(scales.squeeze(1));
    sums_.zero_();
    const std::int8_t* const from = integers.const_data_ptr<std::int8_t>();
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
    return rows_by(ids, in_, [&](std::int64_t n, float* to) { kernels::int8_column(matrix_, n, to); });
  }

  std::int64_t bytes() const override {
    return static_cast<std::int64_t>(weights_.nbytes() + scales_.nbytes() + sums_.nbytes());
  }
  WeightFormat format() const override { return WeightFormat::int8; }

  std::map<std::string, Tensor> stored() const override {
    const Tensor integers = at::empty({out_, in_}, at::kChar);
    std::int8_t* const to = integers.data_ptr<std::int8_t>();
    parallel_ranges(out_, in_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n)
        for (std::int64_t k = 0; k < in_; ++k)
          to[n * in_ + k] = matrix_.weights[matrix_.place(n, k / 4) + k % 4];
    });
    return {{"", integers}, {"_scale", scales_.narrow(0, 0, out_).unsqueeze(1)}};
  }

 private:
  Int8Weights(std::int64_t out, std::int64_t in) : LowPrecisionMatrix(out, in) {
    const std::int64_t columns = kernels::int8_panels(out) * kernels::kInt8Panel;
    weights_ = at::empty({kernels::int8_size(in, out)}, at::kChar);
    scales_ = at::empty({columns}, at::kFloat);
    sums_ = at::empty({columns}, at::kInt);
    matrix_ = {in,
               out,
               weights_.data_ptr<std::int8_t>(),
               scales_.data_ptr<float>(),
               sums_.data_ptr<std::int32_t>(),
               /*rotated=*/true};
  }

  Tensor product(const Int8Matrix& matrix, const Tensor& given, const Tensor& bias, Activation activation,
                 const Tensor& given_residual) const {
    const Tensor x = checked(given), y = at::empty({x.size(0), matrix.columns}, at::kFloat);
    const Tensor residual = given_residual.defined() ? given_residual.contiguous() : Tensor();
    const Int8Product m = product_of(x, y, bias, activation, residual);
    run(m.rows, in_, m.columns, kernels::int8_panels(m.columns), kernels::int8_scratch(in_),
        [&](auto... range) { kernels::int8_kernels().multiply(matrix, m, range...); });
    return y;
  }

  Tensor weights_, scales_, sums_;
  Int8Matrix matrix_;
};

class Int4Weights : public LowPrecisionMatrix {
 public:
  Int4Weights(const Tensor& weight, const AfterSome& after_some)
      : Int4Weights(weight.size(0), weight.size(1)) {
    const float* const from = weight.const_data_ptr<float>();
    const std::int64_t room = 17 * kernels::kInt4Group * kernels::int4_groups(in_);
    pack_in_parts(weight, kernels::int8_panels(out_), 4096 * in_, after_some,
                  [&](std::int64_t begin, std::int64_t end) {
                    std::vector<float> scratch(static_cast<std::size_t>(room));
                    kernels::int8_kernels().pack_int4(matrix_, from, weight.stride(0), weight.stride(1),
                                                      begin, end, scratch.data());
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
    for (const Tensor& t : {numbers_, steps_, starts_, scales_, sums_}) all += t.nbytes();
    return static_cast<std::int64_t>(all);
  }
  WeightFormat format() const override { return WeightFormat::int4; }

  std::map<std::string, Tensor> stored() const override {
    const std::int64_t groups = kernels::int4_groups(in_);
    const Tensor numbers = at::empty({out_, groups * kernels::kInt4Group / 2}, at::kByte),
                 steps = at::empty({out_, groups}, at::kByte), starts = at::empty({out_, groups}, at::kChar);
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

  // Of what stored() gave.
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
          fail("row {}: {} times the step {} from {} on is none of the integers from -127 to 127", n, half,
               int{step[n][g]}, int{start[n][g]});
        matrix_.sums[n] += integer;
        byte(k) = static_cast<std::uint8_t>(byte(k) | (k % 8 < 4 ? half : half << 4));
      }
    });
  }

 private:
  Int4Weights(std::int64_t out, std::int64_t in) : LowPrecisionMatrix(out, in) {
    const std::int64_t columns = kernels::int8_panels(out) * kernels::kInt8Panel,
                       groups = kernels::int4_groups(in);
    numbers_ = at::empty({kernels::int4_size(in, out)}, at::kByte);
    steps_ = at::empty({columns * groups}, at::kByte);
    starts_ = at::empty({columns * groups}, at::kChar);
    scales_ = at::empty({columns}, at::kFloat);
    sums_ = at::empty({columns}, at::kInt);
    matrix_ = {in,
               out,
               numbers_.data_ptr<std::uint8_t>(),
               steps_.data_ptr<std::uint8_t>(),
               starts_.data_ptr<std::int8_t>(),
               scales_.data_ptr<float>(),
               sums_.data_ptr<std::int32_t>(),
               /*rotated=*/true};
  }

  Tensor product(const Int4Matrix& matrix, const Tensor& given, const Tensor& bias, Activation activation,
                 const Tensor& given_residual) const {
    const Tensor x = checked(given), y = at::empty({x.size(0), matrix.columns}, at::kFloat);
    const Tensor residual = given_residual.defined() ? given_residual.contiguous() : Tensor();
    const Int8Product m = product_of(x, y, bias, activation, residual);
    run(m.rows, in_, m.columns, kernels::int8_panels(m.columns), kernels::int4_scratch(in_),
        [&](auto... range) { kernels::int8_kernels().multiply_int4(matrix, m, range...); });
    return y;
  }

  // body(output, group, the place of its step and start, byte(k): that of number k of the group)
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

// Widened to float32 on the way into a product: x is not rounded.
class HalfWeights : public LowPrecisionMatrix {
 public:
  HalfWeights(const Tensor& weight, WeightFormat format, const AfterSome& after_some)
      : LowPrecisionMatrix(weight.size(0), weight.size(1)),
        format_(format == WeightFormat::float16 ? HalfFormat::float16 : HalfFormat::bfloat16) {
    const kernels::Kernels& k = kernels::kernels();
    packed_ = at::empty({k.packed_size(in_, out_)}, at::kShort);
    const float* const from = weight.const_data_ptr<float>();
    auto* const to = reinterpret_cast<std::uint16_t*>(packed_.data_ptr<std::int16_t>());
    pack_in_parts(weight, k.panel_count(out_), 128 * in_, after_some,
                  [&](std::int64_t begin, std::int64_t end) {
                    kernels::half_kernels().pack(format_, to, from, weight.stride(1), weight.stride(0), in_,
                                                 out_, begin, end);
                  });
  }

  Tensor multiply(const Tensor& x, const Tensor& bias, Activation activation,
                  const Tensor& residual) const override {
    return product(0, out_, x, bias, activation, residual);
  }

  Tensor part(const Tensor& x, std::int64_t first, std::int64_t count) const override {
    const std::int64_t before = first % panel(), begin = first - before;
    return product(begin, before + count, x, {}, Activation::none, {}).narrow(1, before, count).contiguous();
  }

  Tensor rows(const Tensor& ids) const override {
    return rows_by(ids, in_, [&](std::int64_t n, float* to) {
      kernels::half_kernels().column(format_, to, halves(), in_, n);
    });
  }

  std::int64_t bytes() const override { return static_cast<std::int64_t>(packed_.nbytes()); }
  WeightFormat format() const override {
    return format_ == HalfFormat::float16 ? WeightFormat::float16 : WeightFormat::bfloat16;
  }
  std::map<std::string, Tensor> stored() const override {
    return {{"", dequantized().to(format_ == HalfFormat::float16 ? at::kHalf : at::kBFloat16)}};
  }

 private:
  const std::uint16_t* halves() const {
    return reinterpret_cast<const std::uint16_t*>(packed_.const_data_ptr<std::int16_t>());
  }
  static std::int64_t panel() { return kernels::kernels().packed_size(1, 1); }  // columns

  // Of `columns` columns from number `first` on, where a panel begins.
  Tensor product(std::int64_t first, std::int64_t columns, const Tensor& given, const Tensor& bias,
                 Activation activation, const Tensor& given_residual) const {
    const Tensor x = checked(given), y = at::empty({x.size(0), columns}, at::kFloat);
    const Tensor residual = given_residual.defined() ? given_residual.contiguous() : Tensor();
    kernels::MatrixProduct m;
    m.rows = x.size(0);
    m.depth = in_;
    m.columns = columns;
    m.a = x.const_data_ptr<float>();
    m.a_row = x.stride(0);
    m.c = y.data_ptr<float>();
    m.c_row = columns;
    if (bias.defined()) m.bias = bias.const_data_ptr<float>();
    m.activation = activation;
    if (residual.defined()) {
      m.residual = residual.const_data_ptr<float>();
      m.residual_row = residual.stride(0);
    }
    const std::uint16_t* const packed = halves() + first * in_;
    run(m.rows, in_, columns, kernels::kernels().panel_count(columns), 0,
        [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end,
            std::uint8_t*) {
          kernels::half_kernels().multiply(format_, m, packed, row_begin, row_end, panel_begin, panel_end);
        });
    return y;
  }

  HalfFormat format_;
  Tensor packed_;
};

}  // namespace

std::shared_ptr<const LowPrecisionMatrix> LowPrecisionMatrix::make(const Tensor& weight, WeightFormat format,
                                                                   const AfterSome& after_some) {
  if (!on_kernels(weight))
    fail("weights as {} are for float32 on the CPU, found {} on {}", name(format),
         at::toString(weight.scalar_type()), weight.device().str());
  const bool integers = format == WeightFormat::int8 || format == WeightFormat::int4;
  if (integers && weight.size(1) > kernels::kInt8LargestDepth)
    fail("weights as {}: a matrix has {} inputs, of which sums in 32 bits hold {} at most", name(format),
         weight.size(1), kernels::kInt8LargestDepth);
  switch (format) {
    case WeightFormat::int8:
      return std::make_shared<Int8Weights>(weight, after_some);
    case WeightFormat::int4:
      return std::make_shared<Int4Weights>(weight, after_some);
    case WeightFormat::float16:
      if (weight.numel() > 0) {
        const auto [least, most] = at::aminmax(weight);
        if (after_some) after_some();
        if (const double size = std::max(-least.item<double>(), most.item<double>()); size >= 65520)
          fail(
              "weights as float16: a matrix holds {:g} (or its negative), and 65504 is the most; take "
              "bfloat16",
              size);
      }
      return std::make_shared<HalfWeights>(weight, format, after_some);
    case WeightFormat::bfloat16:
      return std::make_shared<HalfWeights>(weight, format, after_some);
    case WeightFormat::float32:
      break;
  }
  fail("weights as {} are kept as they are", name(format));
}

std::shared_ptr<const LowPrecisionMatrix> LowPrecisionMatrix::restore(
    const std::map<std::string, Tensor>& stored, std::int64_t out, std::int64_t in, WeightFormat format) {
  const Tensor& scales = find(stored, "_scale", at::kFloat, {out, 1});
  if (format == WeightFormat::int8) {
    const Tensor& integers = find(stored, "", at::kChar, {out, in});
    if (integers.min().item<std::int64_t>() < -127)
      fail("expected integers from -127 to 127, found -128, which no machine multiplies as the others");
    if (in > kernels::kInt8LargestDepth)
      fail("it has {} inputs, of which sums in 32 bits hold {} at most", in, kernels::kInt8LargestDepth);
    return std::make_shared<Int8Weights>(integers, scales);
  }
  if (format != WeightFormat::int4) fail("stored weights as {}: expected int8 or int4", name(format));
  const std::int64_t groups = kernels::int4_groups(in);
  return std::make_shared<Int4Weights>(in,
                                       find(stored, "", at::kByte, {out, groups * kernels::kInt4Group / 2}),
                                       find(stored, "_step", at::kByte, {out, groups}),
                                       find(stored, "_start", at::kChar, {out, groups}), scales);
}

Tensor LowPrecisionMatrix::checked(const Tensor& x) const {
  if (!on_kernels(x) || x.dim() != 2 || x.size(1) != in_)
    fail("a matrix of low precision expected float32 rows of {} numbers on the CPU, found {} {}", in_,
         at::toString(x.scalar_type()), x.sizes());
  return x.stride(1) == 1 ? x : x.contiguous();
}

void release(Tensor& parameter) {
  parameter.set_data(
      at::full({}, std::numeric_limits<float>::quiet_NaN(), at::kFloat).expand(parameter.sizes()));
}

}  // namespace attend
