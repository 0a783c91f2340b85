// Matrix products of 8-bit integers on the CPU, chosen for this machine when the program starts.
//
// Weights are quantized once, by output: w = scale * q with q in -127 ... 127, to nearest, ties to even, and
// scale = max |w| / 127. A row of the left factor is quantized in the same way during the product. Sums of
// the products of these integers are exact in 32 bits up to a depth of 133,144, in any order, and the rest is
// float arithmetic in one fixed order (simd.h). So a row of the result depends only on the row and the
// weights, to the last bit: not on other rows, on threads, or on the machine.
//
// 8 bits are too few if a number is far larger than its neighbours, because all are rounded relative to it.
// So a matrix may be rotated: rows of both factors are multiplied by Hadamard matrices over 16 numbers that
// are 16 apart (8, 4 and 2 numbers in the rest of a row). That spreads every number over 16, and leaves the
// product unchanged except for rounding. (Ashkboos et al. 2024, "QuaRot", arXiv:2404.00456, here with
// additions between vectors only.)
//
// As in kernels.h: no threads and no own memory. A row that holds an infinity or a NaN gives NaN.
#pragma once

#include "kernels/kernels.h"

#include <cstdint>

namespace attend::kernels {

// Columns of a panel: [panel][depth in fours][16 columns][4]. The layout is the same for every instruction
// set.
constexpr std::int64_t kInt8Panel = 16;
constexpr std::int64_t kInt8LargestDepth = 133144;

// W^T [depth, columns] as written by pack_int8.
struct Int8Matrix {
  std::int64_t depth = 0, columns = 0;
  std::int8_t* weights = nullptr;  // int8_size(depth, columns), zeros where depth or columns end early
  float* scales = nullptr;         // [int8_panels(columns) * 16]
  std::int32_t* sums = nullptr;    // [int8_panels(columns) * 16], of each column's weights
  bool rotated = false;

  // The index of the weights 4 k ... 4 k + 3 of a column.
  std::int64_t place(std::int64_t column, std::int64_t k) const {
    return ((column / kInt8Panel * ((depth + 3) / 4) + k) * kInt8Panel + column % kInt8Panel) * 4;
  }
};

inline std::int64_t int8_panels(std::int64_t columns) {
  return (columns + kInt8Panel - 1) / kInt8Panel;
}
inline std::int64_t int8_size(std::int64_t depth, std::int64_t columns) {
  return int8_panels(columns) * ((depth + 3) / 4) * kInt8Panel * 4;
}

// y [rows, columns] = activation(x [rows, depth] W^T + bias) + residual.
struct Int8Product {
  std::int64_t rows = 0, columns = 0;
  const float* x = nullptr;
  std::int64_t x_row = 0;  // floats from one row to the next
  float* y = nullptr;
  std::int64_t y_row = 0;
  const float* bias = nullptr;  // [columns] or null
  Activation activation = Activation::none;
  const float* residual = nullptr;  // [rows, columns] or null
  std::int64_t residual_row = 0;
};

struct Int4Matrix;
struct BlockMatrix;

struct Int8Kernels {
  const char* name;

  // Quantizes W [columns, depth], W(n, k) = w[n * w_row + k * w_column], for panels [begin, end).
  // `scratch`: 16 * depth floats.
  void (*pack)(const Int8Matrix&, const float* w, std::int64_t w_row, std::int64_t w_column,
               std::int64_t begin, std::int64_t end, float* scratch);
  // Computes the given rows and panels of y. `scratch`: int8_scratch(depth) bytes.
  void (*multiply)(const Int8Matrix&, const Int8Product&, std::int64_t row_begin, std::int64_t row_end,
                   std::int64_t panel_begin, std::int64_t panel_end, std::uint8_t* scratch);
  // The same with 4-bit weights (int4.h).
  void (*pack_int4)(const Int4Matrix&, const float* w, std::int64_t w_row, std::int64_t w_column,
                    std::int64_t begin, std::int64_t end, float* scratch);
  void (*multiply_int4)(const Int4Matrix&, const Int8Product&, std::int64_t row_begin, std::int64_t row_end,
                        std::int64_t panel_begin, std::int64_t panel_end, std::uint8_t* scratch);
  // The same with blocks of integers (blocks.h).
  void (*multiply_blocks)(const BlockMatrix&, const Int8Product&, std::int64_t row_begin,
                          std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end,
                          std::uint8_t* scratch);
  // Writes x [count] as integers, -127 ... 127 to nearest, ties to even; returns their scale, max |x| / 127.
  // If all numbers are below 1e-30 they become zeros; an infinity or a NaN makes the scale NaN.
  float (*quantize)(std::int8_t* to, const float* x, std::int64_t count);
  // Column n of the matrix as float32: row n of W, [depth].
  void (*column)(const Int8Matrix&, std::int64_t n, float* to);
  // Rotates x [count] in place; rotating twice restores x, except for rounding.
  void (*rotate)(float* x, std::int64_t count);
  // Attention of heads [begin, end), numbered sequence by sequence, for keys and values without pages and
  // without dropout. Queries, keys and values are rounded to 8 bits row by row, weights to 15 bits.
  // `scratch`: int8_attention_scratch bytes, aligned for floats.
  void (*attention)(const Attention&, std::int64_t begin, std::int64_t end, std::uint8_t* scratch);
};

// The number of rows that multiply quantizes at a time, and the scratch size for them.
constexpr std::int64_t kInt8Rows = 64;
inline std::int64_t int8_stride(std::int64_t depth) {  // from one row to the next; not a power of 2
  return (depth + 63) / 64 * 64 + 64;
}
inline std::int64_t int8_scratch(std::int64_t depth) {
  return kInt8Rows * int8_stride(depth) + depth * 4;
}

// The number of queries that attention processes at a time, and its scratch size.
constexpr std::int64_t kInt8Queries = 32;
std::int64_t int8_attention_scratch(const Attention& attention);

// The best set this machine has; ATTEND_ISA=portable or avx2 forces these (kernels.h).
const Int8Kernels& int8_kernels();

// A set by name, for tests: portable, avx2, avx_vnni, avx512_vnni, neon_dot. Null if it was not built or this
// machine cannot run it.
const Int8Kernels* find_int8_kernels(const char* name);

}  // namespace attend::kernels
