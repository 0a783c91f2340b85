// One step's gradients: every term of the loss over its own count, however the step's labels are spread.
#pragma once

#include "objectives/objective.h"

namespace attend {

class GradientSum;

struct StepGradients {
  double loss = 0;
  std::vector<double> terms;  // each over its count; NaN without labels
  std::int64_t labels = 0;    // of all terms
  double scale = 1;           // the gradients are still to be multiplied by this
};

// Whether any term has any.
bool has_labels(std::span<const Batch> batches);

// Adds the gradients of the batches to those of the trainee's parameters. With `sum`, the batches are this
// process's share of the step, and gradients, counts and losses become those of all. Error for a step without
// a label.
StepGradients add_gradients(Trainee& trainee, const Objective& objective, std::span<const Batch> batches,
                            Pass& pass, const LossOptions& options, GradientSum* sum = nullptr);

}  // namespace attend
