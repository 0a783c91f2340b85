// The gradients of one step: every term of the loss is divided by its own count over the whole step,
// independent of how labels are distributed among batches.
#pragma once

#include "objectives/base/objective.h"

namespace attend {

class GradientSum;

struct StepGradients {
  double loss = 0;
  std::vector<double> terms;  // each over its count; NaN without labels
  std::int64_t labels = 0;    // of all terms
  double scale = 1;           // the gradients must still be multiplied by this
};

// Whether any term has a label.
bool has_labels(std::span<const Batch> batches);

// Adds the gradients of the batches to those of the trainee's parameters. With `sum`, the batches are this
// process's part of the step, and gradients, counts and losses become those of all processes. Throws Error
// for a step without a label.
StepGradients add_gradients(Trainee& trainee, const Objective& objective, std::span<const Batch> batches,
                            Pass& pass, const LossOptions& options, GradientSum* sum = nullptr);

}  // namespace attend
