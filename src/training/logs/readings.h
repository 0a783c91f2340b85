// Predictions of non-generating models for held-out examples: labels of texts, tokens and pictures, or masked
// tokens.
#pragma once

#include <attend/tokenizer.h>

#include "objectives/base/objective.h"
#include "training/logs/sample_log.h"

namespace attend {

// For the first `count` examples. Empty if the objective has no scores over labels and predicts no tokens
// (pairs of texts, answers). `tokenizer`: null for pictures.
std::vector<Sample> readings(const Trainee& trainee, const Objective& held_out, const Tokenizer* tokenizer,
                             std::int64_t count);

}  // namespace attend
