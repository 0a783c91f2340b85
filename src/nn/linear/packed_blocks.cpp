#include "kernels/int8/blocks.h"
#include "nn/linear/packed_parts.h"

#include <atomic>
#include <span>

namespace attend {
namespace {

using kernels::BlockMatrix;

// Whether the same kernel multiplies both.
bool alike(const NumberGroups& a, const NumberGroups& b) {
  return a.size == b.size && a.lowest == b.lowest && a.highest == b.highest &&
         a.starts.defined() == b.starts.defined();
}

// The rows of some tensors of the file, which are alike.
class BlockPart {
 public:
  explicit BlockPart(std::span<const NumberGroups> tensors) {
    const NumberGroups& first = tensors.front();
    for (const NumberGroups& tensor : tensors) matrix_.columns += tensor.numbers.size(0);
    matrix_.depth = first.numbers.size(1);
    matrix_.bits = kernels::block_bits(first.lowest, first.highest);
    matrix_.has_starts = first.starts.defined();
    matrix_.has_halves = first.size == 16;
    matrix_.zero = first.lowest < -64 ? 128 : static_cast<std::int32_t>(-first.lowest);
    units_ = ops::zeros({kernels::int8_panels(matrix_.columns) * kernels::kInt8Panel}, kFloat);
    groups_ = ops::zeros(
        {kernels::int8_panels(matrix_.columns) * matrix_.group_count() * matrix_.group_bytes()}, kByte);
    matrix_.units = units_.data<float>();
    matrix_.groups = groups_.data<std::uint8_t>();
  }

  // False if the numbers are not integers times scales.
  bool pack(std::span<const NumberGroups> tensors) const {
    std::int64_t column = 0;
    for (const NumberGroups& tensor : tensors) {
      if (!pack(tensor, column)) return false;
      column += tensor.numbers.size(0);
    }
    return true;
  }

  // Columns `first` to first + count - 1, and up to 15 before them so that a panel begins.
  BlockMatrix columns(std::int64_t first, std::int64_t count) const {
    const std::int64_t panel = first / kernels::kInt8Panel, begin = panel * kernels::kInt8Panel;
    BlockMatrix some = matrix_;
    some.columns = first - begin + count;
    some.units += begin;
    some.groups = matrix_.group(panel, 0);
    return some;
  }
  const BlockMatrix& matrix() const { return matrix_; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(units_.bytes() + groups_.bytes()); }

 private:
  bool pack(const NumberGroups& given, std::int64_t column) const {
    const float *const numbers = given.numbers.const_data<float>(),
                       *const scales = given.scales.const_data<float>(),
                       *const starts = matrix_.has_starts ? given.starts.const_data<float>() : nullptr;
    const std::int64_t depth = matrix_.depth, groups = given.scales.size(1);
    std::atomic<bool> fits = true;
    parallel_ranges(given.numbers.size(0), 16 * depth, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end && fits; ++n)
        if (!kernels::pack_blocks(matrix_, column + n, numbers + n * depth, scales + n * groups,
                                  starts ? starts + n * groups : nullptr))
          fits = false;
    });
    return fits;
  }

  Tensor units_, groups_;
  BlockMatrix matrix_;
};

class BlockWeights : public PackedMatrix {
 public:
  BlockWeights(std::vector<BlockPart> parts, std::int64_t out, std::int64_t in)
      : PackedMatrix(out, in), parts_(std::move(parts)) {}

  Tensor multiply(const Tensor& x, const Tensor& bias, Activation activation,
                  const Tensor& residual) const override {
    return product(x, 0, out_, bias, activation, residual);
  }
  Tensor part(const Tensor& x, std::int64_t first, std::int64_t count) const override {
    return product(x, first, count, {}, Activation::none, {});
  }
  Tensor rows(const Tensor& ids) const override {
    return rows_by(ids, in_, [&](std::int64_t n, float* to) {
      for (const BlockPart& part : parts_) {
        if (n < part.matrix().columns) return kernels::block_column(part.matrix(), n, to);
        n -= part.matrix().columns;
      }
    });
  }
  std::int64_t bytes() const override {
    std::int64_t all = 0;
    for (const BlockPart& part : parts_) all += part.bytes();
    return all;
  }
  WeightFormat format() const override { return WeightFormat::blocks; }
  std::map<std::string, Tensor> stored() const override { fail("weights as blocks cannot be stored"); }

 private:
  Tensor product(const Tensor& given, std::int64_t first, std::int64_t count, const Tensor& bias,
                 Activation activation, const Tensor& given_residual) const {
    const Tensor x = checked(given),
                 residual = given_residual.defined() ? given_residual.contiguous() : Tensor(),
                 y = ops::empty({x.size(0), count}, kFloat);
    std::int64_t own = 0;  // the first row of the part
    for (const BlockPart& part : parts_) {
      const std::int64_t begin = std::max(first, own),
                         end = std::min(first + count, own + part.matrix().columns);
      if (begin < end) {
        const std::int64_t before = (begin - own) % kernels::kInt8Panel;
        const Tensor to = before == 0 ? y.narrow(1, begin - first, end - begin)
                                      : ops::empty({x.size(0), before + end - begin}, kFloat);
        multiply_part(part.columns(begin - own, end - begin), x, to,
                      bias.defined() ? bias.narrow(0, begin - first, end - begin) : bias, activation,
                      residual.defined() ? residual.narrow(1, begin - first, end - begin) : residual);
        if (before > 0) y.narrow(1, begin - first, end - begin).copy_(to.narrow(1, before, end - begin));
      }
      own += part.matrix().columns;
    }
    return y;
  }

  // bias and residual only for a part that begins with a panel
  void multiply_part(const BlockMatrix& matrix, const Tensor& x, const Tensor& y, const Tensor& bias,
                     Activation activation, const Tensor& residual) const {
    kernels::Int8Product m = int8_product(x, y, bias, activation, residual);
    m.y_row = y.stride(0);
    run_in_pieces(m.rows, in_, m.columns, kernels::int8_panels(m.columns), kernels::block_scratch(in_),
                  [&](auto... range) { kernels::int8_kernels().multiply_blocks(matrix, m, range...); });
  }

  std::vector<BlockPart> parts_;  // their rows, one part after another
};

}  // namespace

std::shared_ptr<const PackedMatrix> PackedMatrix::of_groups(const std::vector<NumberGroups>& parts) {
  std::vector<BlockPart> packed;
  std::int64_t out = 0;
  for (const NumberGroups& part : parts) {
    if (part.numbers.size(1) % kernels::kBlockGroup != 0) return nullptr;
    out += part.numbers.size(0);
  }
  for (std::size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
    while (end < parts.size() && alike(parts[begin], parts[end])) ++end;
    const std::span<const NumberGroups> tensors = std::span(parts).subspan(begin, end - begin);
    packed.emplace_back(tensors);
    if (!packed.back().pack(tensors)) return nullptr;
  }
  return std::make_shared<BlockWeights>(std::move(packed), out, parts.front().numbers.size(1));
}

}  // namespace attend
