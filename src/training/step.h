// One step's gradients: every term of the loss over its own count, however the step's labels are spread.
#pragma once

#include "objectives/objective.h"

namespace attend {

struct StepGradients {
  double loss = 0;
  std::vector<double> terms;  // each over its count; NaN without labels
  std::int64_t labels = 0;    // of all terms
  double scale = 1;           // the gradients are still to be multiplied by this
};

// Adds the gradients of the batches to those of the trainee's parameters. Throws Error for batches without
// labels.
StepGradients add_gradients(Trainee& trainee, const Objective& objective, std::span<const Batch> batches,
                            Pass& pass, const LossOptions& options);

}  // namespace attend
