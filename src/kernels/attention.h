// The attention kernels of one instruction set (attention.simd.cpp); kernels.h documents them.
#pragma once

#include "kernels/gemm.h"
#include "kernels/kernels.h"

namespace attend::kernels::ATTEND_ISA {

std::int64_t attention_scratch(const Attention&);
void attention_forward(const Attention&, std::int64_t begin, std::int64_t end, float* scratch);
void attention_backward(const Attention&, const AttentionGradient&, std::int64_t begin, std::int64_t end,
                        float* scratch);

}  // namespace attend::kernels::ATTEND_ISA
