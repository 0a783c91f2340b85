// The loss of models that read from left to right: each token is predicted from those before it. Models with
// experts have a second term, which keeps the experts equally busy.
#pragma once

#include "objectives/base/registry.h"

namespace attend {

// Error for a model that sees later tokens too.
void check_left_to_right(const Setting& setting);
// The factor of the second term; 0: there is none.
double expert_balance(const Setting& setting);

std::vector<Term> next_token_terms(double expert_balance);
// Sets the counts of a batch with token_labels.
void count_next_tokens(Batch& batch, double expert_balance);
Losses next_token_losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options,
                         double expert_balance);

}  // namespace attend
