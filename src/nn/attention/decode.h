// Attention of sequences with one query each, as in decoding: tasks for all threads, also for one sequence.
#pragma once

#include "kernels/kernels.h"

namespace attend {

// Every sequence has one query; no dropout. The results are those of kernels().attention_forward, to the bit.
void decode(const kernels::Attention& attention);

}  // namespace attend
