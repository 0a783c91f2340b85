#include "objectives/next_tokens.h"

#include "objectives/masked_language_model.h"
#include "objectives/shared/token_ids.h"

namespace attend {

void check_left_to_right(const Setting& setting) {
  const StackSpec& stack = setting.spec.decoder ? *setting.spec.decoder : *setting.spec.encoder;
  if (!stack.layers.front().self_attention.causal)
    fail("{}: expected a model that reads from left to right; config.json says it with \"causal\": true",
         setting.directory.path().string());
}

double expert_balance(const Setting& setting) {
  return setting.spec.router_loss ? setting.spec.router_loss->factor : 0;
}

std::vector<Term> next_token_terms(double expert_balance) {
  if (expert_balance == 0) return {{"loss"}};
  return {{"next token"}, {"balance of experts", expert_balance}};
}

// The balance is that of all tokens, whether they are learned or not.
void count_next_tokens(Batch& batch, double expert_balance) {
  batch.counts = {count_labels(batch.token_labels)};
  if (expert_balance != 0) batch.counts.push_back(batch.token_labels.numel());
}

Losses next_token_losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options,
                         double expert_balance) {
  const TokenPredictions made = predict_tokens(trainee, batch, pass, options);
  std::vector<Tensor> sums{made.loss};
  if (expert_balance != 0) sums.push_back(made.balance * static_cast<double>(batch.token_labels.numel()));
  return {sums, made.loss.detach(), made.hidden};
}

}  // namespace attend
