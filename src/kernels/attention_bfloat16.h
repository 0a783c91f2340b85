// Attention of several queries with factors in bfloat16 (Attention::bfloat16).
#pragma once

#include "kernels/attention_head.h"

namespace attend::kernels::ATTEND_ISA {

std::int64_t bfloat16_scratch(const Attention&);  // floats
// `packed`: the scratch already holds this head's keys and values.
void bfloat16_head(const Attention&, const Head&, float* scratch, bool packed);

}  // namespace attend::kernels::ATTEND_ISA
