// Sampling from a part of the vocabulary: each processor excludes tokens that are too unlikely by some
// measure.
#pragma once

#include "generation/scores/processors.h"

namespace attend {

// `keep`: this many of the likeliest (typical_p: of the most typical) always stay.
Processor top_k(std::size_t k, std::size_t keep);
Processor top_p(double p, std::size_t keep);
Processor min_p(double p, std::size_t keep);
Processor typical_p(double mass, std::size_t keep);
Processor epsilon_cutoff(double epsilon, std::size_t keep);
Processor eta_cutoff(double epsilon, std::size_t keep);
// llama.cpp's XTC, which works in the opposite direction: with this probability, only the least likely of the
// tokens at or above the threshold is kept.
Processor xtc(double probability, double threshold);

}  // namespace attend
