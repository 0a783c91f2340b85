// The matrix products of one instruction set (linear.simd.cpp); kernels.h documents them.
#pragma once

#include "kernels/kernels.h"

namespace attend::kernels::ATTEND_ISA {

std::int64_t packed_size(std::int64_t depth, std::int64_t columns);
std::int64_t panel_count(std::int64_t columns);
void pack_panels(float* packed, const float* b, std::int64_t b_row, std::int64_t b_column, std::int64_t depth,
                 std::int64_t columns, std::int64_t panel_begin, std::int64_t panel_end);
void multiply(const MatrixProduct&, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
              std::int64_t panel_end);
void pack_pairs(std::uint32_t* packed, const float* b, std::int64_t b_row, std::int64_t b_column,
                std::int64_t depth, std::int64_t columns, std::int64_t panel_begin, std::int64_t panel_end);
void multiply_bfloat16(const MatrixProduct&, std::int64_t row_begin, std::int64_t row_end,
                       std::int64_t panel_begin, std::int64_t panel_end);

}  // namespace attend::kernels::ATTEND_ISA
