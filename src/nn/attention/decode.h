// Attention of sequences with one query each, as in decoding: tasks for all threads, also for one sequence.
#pragma once

#include "kernels/kernels.h"

#include <span>

namespace attend {

// The given sequences of the call, each with one query; no dropout. The results are those of
// kernels().attention_forward, to the bit.
void decode(const kernels::Attention& attention, std::span<const std::int64_t> sequences);

}  // namespace attend
