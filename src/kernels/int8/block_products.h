// Products with matrices of blocks of one instruction set (blocks.simd.cpp); blocks.h documents them.
#pragma once

#include "kernels/int8/blocks.h"

namespace attend::kernels::ATTEND_ISA {

void multiply_blocks(const BlockMatrix& b, const Int8Product& m, std::int64_t row_begin, std::int64_t row_end,
                     std::int64_t panel_begin, std::int64_t panel_end, std::uint8_t* scratch);

}  // namespace attend::kernels::ATTEND_ISA
