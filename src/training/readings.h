// What a model that reads says of held-out examples: labels of texts, tokens and pictures, or the tokens that
// are hidden in a text.
#pragma once

#include <attend/tokenizer.h>

#include "objectives/objective.h"
#include "training/sample_log.h"

namespace attend {

// Of the first `count` examples. Nothing where the objective has neither scores over labels nor predicts
// tokens (pairs of texts, answers). `tokenizer`: null for pictures.
std::vector<Sample> readings(const Trainee& trainee, const Objective& held_out, const Tokenizer* tokenizer,
                             std::int64_t count);

}  // namespace attend
