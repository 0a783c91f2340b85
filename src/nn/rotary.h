// Rotary positions: queries and keys are rotated before their product (RotarySpec).
#pragma once

#include "nn/ragged.h"
#include "nn/spec.h"

#include <span>

namespace attend {

// What turns each row of one batch.
struct RotaryTable {
  Tensor cosine, sine;  // [T, pairs]
  bool halves = false;
};
using RotaryTables = std::vector<RotaryTable>;

// A table for each spec, for rows at `positions` [T] of sequences of `offsets`. How a long text is turned
// depends on that text alone: on the last of its positions.
RotaryTables rotary_tables(std::span<const RotarySpec> specs, const Tensor& positions, const Offsets& offsets,
                           ScalarType type);

// rows [T, w] with their first `heads` heads turned. May do it in place where no gradient is wanted.
Tensor rotate(const Tensor& rows, const RotaryTable& table, std::int64_t heads, std::int64_t head_size);

}  // namespace attend
