// Products with 4-bit weights of one instruction set (int4.simd.cpp); int8.h documents them.
#pragma once

#include "kernels/int8/int4.h"

namespace attend::kernels::ATTEND_ISA {

void pack_int4(const Int4Matrix& m, const float* w, std::int64_t w_row, std::int64_t w_column,
               std::int64_t begin, std::int64_t end, float* scratch);
void multiply_int4(const Int4Matrix& b, const Int8Product& m, std::int64_t row_begin, std::int64_t row_end,
                   std::int64_t panel_begin, std::int64_t panel_end, std::uint8_t* scratch);

}  // namespace attend::kernels::ATTEND_ISA
