// Rotary positions: queries and keys are rotated before their product (RotarySpec).
#pragma once

#include "nn/pass/ragged.h"
#include "nn/spec/spec.h"

#include <span>

namespace attend {

// The rotations of the rows of one batch.
struct RotaryTable {
  Tensor cosine, sine;  // [T, pairs]
  bool halves = false;
};
using RotaryTables = std::vector<RotaryTable>;

// A table for each spec, for rows at `positions` [T] of sequences of `offsets`. The rotation of a long text
// depends only on that text: on the last of its positions.
RotaryTables rotary_tables(std::span<const RotarySpec> specs, const Tensor& positions, const Offsets& offsets,
                           ScalarType type);

// rows [T, w] with their first `heads` heads rotated. May work in place if no gradient is needed.
Tensor rotate(const Tensor& rows, const RotaryTable& table, std::int64_t heads, std::int64_t head_size);

}  // namespace attend
