// Shared by the formats of a PackedMatrix: dividing products among threads, packing in parts, rows by index.
#pragma once

#include "kernels/int8/int8.h"
#include "nn/linear/packed_matrix.h"
#include "tensor/parallel.h"
#include "tensor/product.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace attend {

using AfterSome = std::function<void()>;

// One format each, in separate files.
std::shared_ptr<const PackedMatrix> make_float32(const Tensor& weight, const AfterSome& after_some);
std::shared_ptr<const PackedMatrix> make_float16(const Tensor& weight, const AfterSome& after_some);
std::shared_ptr<const PackedMatrix> make_bfloat16(const Tensor& weight, const AfterSome& after_some);
std::shared_ptr<const PackedMatrix> make_int8(const Tensor& weight, const AfterSome& after_some);
std::shared_ptr<const PackedMatrix> make_int4(const Tensor& weight, const AfterSome& after_some);
// From the tensors of stored().
std::shared_ptr<const PackedMatrix> restore_int8(const std::map<std::string, Tensor>& stored,
                                                 std::int64_t out, std::int64_t in);
std::shared_ptr<const PackedMatrix> restore_int4(const std::map<std::string, Tensor>& stored,
                                                 std::int64_t out, std::int64_t in);
// One of these tensors. An Error unless it exists with this type and shape.
const Tensor& find_stored(const std::map<std::string, Tensor>& stored, const std::string& what,
                          ScalarType type, const std::vector<std::int64_t>& shape);

// multiply(row_begin, row_end, panel_begin, panel_end, scratch) on all threads. Threads take blocks of rows
// if there are many or if that divides the work better, else panels of columns. With panels each thread
// quantizes the rows itself: that costs less than waiting for another thread.
template <class Multiply>
void run_in_pieces(std::int64_t rows, std::int64_t depth, std::int64_t columns, std::int64_t panels,
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
  // A multiply-add counts as 1/64 of a touched element.
  if (tiles >= 16 * parallel_threads() || largest_share(tiles) < 0.9 * largest_share(panels))
    parallel_ranges(tiles, kTile * depth * columns / 64, [&](std::int64_t begin, std::int64_t end) {
      piece(begin * kTile, std::min(rows, end * kTile), 0, panels);
    });
  else
    parallel_ranges(panels, depth * (4 + rows / 4),
                    [&](std::int64_t begin, std::int64_t end) { piece(0, rows, begin, end); });
}

// The arguments of a product: x [T, in], y [T, columns], bias, activation and residual.
kernels::Int8Product int8_product(const Tensor& x, const Tensor& y, const Tensor& bias, Activation activation,
                                  const Tensor& residual);

// A matrix in panels of Kernels, of any number type: a product of some panels is a part of the whole product.
class PanelMatrix : public PackedMatrix {
 public:
  Tensor multiply(const Tensor& x, const Tensor& bias, Activation activation,
                  const Tensor& residual) const override;
  Tensor part(const Tensor& x, std::int64_t first, std::int64_t count) const override;

 protected:
  using PackedMatrix::PackedMatrix;
  static std::int64_t panel() { return kernels::kernels().packed_size(1, 1); }  // columns

 private:
  // m describes everything but B, for the columns from `first` on, where a panel begins.
  virtual void multiply_panels(kernels::MatrixProduct& m, std::int64_t first) const = 0;
  Tensor product(std::int64_t first, std::int64_t columns, const Tensor& x, const Tensor& bias,
                 Activation activation, const Tensor& residual) const;
};

// The first number of a weight, and the strides of its rows and columns.
struct WeightNumbers {
  const float* first;
  std::int64_t row, column;
};

// Calls pack(numbers, begin, end) for the panels of a weight of any floating type on all threads, in parts of
// some megabytes; other types are converted to float32 in parts of one megabyte. `width`: outputs of a panel.
// `after_some` is called after some megabytes, because it costs as much as packing one.
template <class Pack>
void pack_in_parts(const Tensor& weight, std::int64_t width, std::int64_t cost, const AfterSome& after_some,
                   const Pack& pack) {
  constexpr std::int64_t kSome = 4 << 20;
  const std::int64_t numbers_of_part = weight.type() == kFloat ? kSome : 1 << 18;
  const std::int64_t outputs = weight.size(0), panels = (outputs + width - 1) / width;
  const std::int64_t parts = 1 + weight.numel() / numbers_of_part, some = (panels + parts - 1) / parts;
  for (std::int64_t first = 0, seen = 0; first < panels; first += some) {
    const std::int64_t row = first * width, rows = std::min(some * width, outputs - row);
    const Tensor part = weight.narrow(0, row, rows).to(kFloat);
    // Panels are counted from the start of the whole matrix.
    const WeightNumbers numbers{part.const_data<float>() - row * part.stride(0), part.stride(0),
                                part.stride(1)};
    parallel_ranges(std::min(some, panels - first), cost,
                    [&](std::int64_t begin, std::int64_t end) { pack(numbers, first + begin, first + end); });
    seen += part.numel();
    if (after_some && (seen >= kSome || first + some >= panels)) {
      after_some();
      seen = 0;
    }
  }
}

// Rows `ids` of a matrix; column(n, to) writes one row.
template <class Column>
Tensor rows_by(const Tensor& ids, std::int64_t width, const Column& column) {
  const Tensor places = ids.to(kLong).contiguous(), found = ops::empty({ids.size(0), width}, kFloat);
  const std::int64_t* const id = places.const_data<std::int64_t>();
  float* const to = found.data<float>();
  parallel_ranges(ids.size(0), width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) column(id[i], to + i * width);
  });
  return found;
}

}  // namespace attend
