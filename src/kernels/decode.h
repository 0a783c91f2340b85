// Attention of sequences with one query, as in decoding (decode.simd.cpp); kernels.h documents it.
#pragma once

#include "kernels/attention_head.h"

namespace attend::kernels::ATTEND_ISA {

std::int64_t decode_scratch(const Attention&);
void decode(const Attention&, const DecodePiece* pieces, std::int64_t count, float* scratch);
void join_pieces(const Attention&, std::int64_t task, const float* sums, std::int64_t step,
                 std::int64_t pieces);

// The same for one head, on its own: all pieces and their join, with the same bits. `scratch` holds
// attention_scratch floats.
void decode_head(const Attention&, const Head&, float* scratch);

}  // namespace attend::kernels::ATTEND_ISA
