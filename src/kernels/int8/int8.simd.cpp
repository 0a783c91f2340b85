// Int8Kernels of one instruction set. Its namespace is its own, so the linker cannot mix its inline functions
// with those of the float kernels.
#include "kernels/int8/int8.h"

#include "kernels/int8/attention.h"
#include "kernels/int8/block_products.h"
#include "kernels/int8/int4_products.h"
#include "kernels/int8/tile.h"

#define ATTEND_STRING_OF(x) #x
#define ATTEND_STRING(x) ATTEND_STRING_OF(x)

namespace attend::kernels::ATTEND_ISA {
namespace {

void multiply(const Int8Matrix& b, const Int8Product& m, std::int64_t row_begin, std::int64_t row_end,
              std::int64_t panel_begin, std::int64_t panel_end, std::uint8_t* scratch) {
  const std::int64_t padded = (b.depth + 3) / 4 * 4, stride = int8_stride(b.depth);
  float* const room = b.rotated ? reinterpret_cast<float*>(scratch + kInt8Rows * stride) : nullptr;
  float scales[kInt8Rows];
  for (std::int64_t i = row_begin; i < row_end; i += kInt8Rows) {
    const std::int64_t rows = row_end - i < kInt8Rows ? row_end - i : kInt8Rows;
    for (std::int64_t r = 0; r < rows; ++r)
      scales[r] = quantize_left(scratch + r * stride, m.x + (i + r) * m.x_row, b.depth, padded, room);
    const Factors f{scratch, stride, scales, i, b.weights, padded / 4, b.scales, b.sums, 0};
    std::int64_t panel = panel_begin;
    // Few rows wait for the weights, and memory is fastest when read sequentially.
    if (rows > kFewRows)
      for (; panel + kTilePanels <= panel_end; panel += kTilePanels)
        rows_by_panels<kTilePanels>(m, f, rows, panel);
    for (; panel < panel_end; ++panel) rows_by_panels<1>(m, f, rows, panel);
  }
}

void pack(const Int8Matrix& m, const float* w, std::int64_t w_row, std::int64_t w_column, std::int64_t begin,
          std::int64_t end, float* scratch) {
  const std::int64_t padded = (m.depth + 3) / 4 * 4;
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t first = panel * kInt8Panel,
                       count = m.columns - first < kInt8Panel ? m.columns - first : kInt8Panel;
    std::int8_t* to = m.weights + panel * padded * kInt8Panel;
    if (count < kInt8Panel) std::memset(to, 0, static_cast<std::size_t>(padded * kInt8Panel));
    if (w_column != 1)
      for (std::int64_t k = 0; k < m.depth; ++k)
        for (std::int64_t c = 0; c < count; ++c)
          scratch[c * m.depth + k] = w[(first + c) * w_row + k * w_column];
    for (std::int64_t c = 0; c < kInt8Panel; ++c) {
      m.scales[first + c] = 0;
      m.sums[first + c] = 0;
      if (c >= count) continue;
      // The floats are read before bytes overwrite them in scratch: a byte is smaller.
      const float* row = w_column == 1 ? w + (first + c) * w_row : scratch + c * m.depth;
      if (m.rotated) {
        rotate(scratch + c * m.depth, row, m.depth);
        row = scratch + c * m.depth;
      }
      std::uint8_t* bytes = reinterpret_cast<std::uint8_t*>(scratch + c * m.depth);
      m.scales[first + c] = quantize(bytes, row, m.depth, padded, 0);
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < padded; ++k) sum += static_cast<std::int8_t>(bytes[k]);
      m.sums[first + c] = sum;
      for (std::int64_t k = 0; k < padded; k += 4) std::memcpy(to + k * kInt8Panel + c * 4, bytes + k, 4);
    }
  }
}

float quantize_numbers(std::int8_t* to, const float* x, std::int64_t count) {
  return quantize(reinterpret_cast<std::uint8_t*>(to), x, count, count, 0);
}

void column(const Int8Matrix& m, std::int64_t n, float* to) {
  const std::int8_t* four = m.weights + m.place(n, 0);
  for (std::int64_t k = 0; k < m.depth; k += 4 * W) {
    std::int8_t side_by_side[4 * W] = {};
    for (std::int64_t i = 0; i < 4 * W && k + i < m.depth; i += 4, four += kInt8Panel * 4)
      std::memcpy(side_by_side + i, four, 4);
    for (std::int64_t i = 0; i < 4 * W && k + i < m.depth; i += W)
      store_part(to + k + i, __builtin_convertvector(load_wide(side_by_side + i), Vector) * m.scales[n],
                 m.depth - k - i < W ? m.depth - k - i : W);
  }
  if (m.rotated) rotate(to, to, m.depth);
}

void rotate_in_place(float* x, std::int64_t count) {
  rotate(x, x, count);
}

}  // namespace

extern const Int8Kernels int8_table;
const Int8Kernels int8_table = {.name = ATTEND_STRING(ATTEND_ISA) + 5,
                                .pack = pack,
                                .multiply = multiply,
                                .pack_int4 = pack_int4,
                                .multiply_int4 = multiply_int4,
                                .multiply_blocks = multiply_blocks,
                                .quantize = quantize_numbers,
                                .column = column,
                                .rotate = rotate_in_place,
                                .attention = integer_attention};

}  // namespace attend::kernels::ATTEND_ISA
