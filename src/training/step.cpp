#include "training/step.h"

#include <limits>
#include <numeric>

namespace attend {

StepGradients add_gradients(Trainee& trainee, const Objective& objective, std::span<const Batch> batches,
                            Pass& pass, const LossOptions& options) {
  const std::vector<Term> terms = objective.terms();
  std::vector<std::int64_t> counts(terms.size());  // over the whole step: known before the model runs
  for (const Batch& batch : batches)
    for (std::size_t k = 0; k < terms.size(); ++k) counts[k] += batch.counts[k];
  StepGradients result;
  result.labels = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (result.labels == 0) fail("a step without a single label: is the data right?");

  // The weight of each term is weight / count. The optimizer applies that of the first term, where it costs
  // nothing; the others are multiplied by the ratio to it.
  std::vector<double> shares(terms.size());
  for (std::size_t k = 0; k < terms.size(); ++k)
    if (counts[k] > 0) shares[k] = terms[k].weight / static_cast<double>(counts[k]);
  const double first = *std::find_if(shares.begin(), shares.end(), [](double share) { return share != 0; });
  std::vector<Tensor> sums(terms.size());
  for (const Batch& batch : batches) {
    const Losses losses = objective.losses(trainee, batch, pass, options);
    Tensor loss;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      if (batch.counts[k] == 0) continue;
      const Tensor& sum = losses.sums[k];
      const Tensor part = shares[k] == first ? sum : sum * (shares[k] / first);
      loss = loss.defined() ? loss + part : part;
      sums[k] = sums[k].defined() ? sums[k] + sum.detach() : sum.detach();
    }
    if (loss.defined() && loss.needs_gradient()) loss.backward();
  }
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const double sum = sums[k].defined() ? sums[k].item<double>() : 0;
    result.terms.push_back(counts[k] > 0 ? sum / static_cast<double>(counts[k])
                                         : std::numeric_limits<double>::quiet_NaN());
    result.loss += sum * shares[k];
  }
  result.scale = first;
  return result;
}

}  // namespace attend
