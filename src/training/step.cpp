#include "training/step.h"

#include "training/optimizers/gradient_sum.h"

#include <limits>

namespace attend {
namespace {

// The count of each term over the whole step, known before the model runs.
std::vector<double> label_counts(std::span<const Batch> batches, std::size_t terms, GradientSum* sum) {
  std::vector<double> counts(terms);
  for (const Batch& batch : batches)
    for (std::size_t k = 0; k < terms; ++k) counts[k] += static_cast<double>(batch.counts[k]);
  if (sum != nullptr) sum->ranks().sum(counts);
  return counts;
}

bool has_label(const Batch& batch) {
  return std::ranges::any_of(batch.counts, [](std::int64_t count) { return count > 0; });
}

}  // namespace

bool has_labels(std::span<const Batch> batches) {
  return std::ranges::any_of(batches, has_label);
}

StepGradients add_gradients(Trainee& trainee, const Objective& objective, std::span<const Batch> batches,
                            Pass& pass, const LossOptions& options, GradientSum* sum) {
  const std::vector<Term> terms = objective.terms();
  const std::vector<double> counts = label_counts(batches, terms.size(), sum);
  StepGradients result;
  for (std::size_t k = 0; k < terms.size(); ++k)
    if (terms[k].weight != 0) result.labels += static_cast<std::int64_t>(counts[k]);
  if (result.labels == 0) fail("a step without a single label: is the data right?");

  // The weight of each term is weight / count. The optimizer applies the first term's weight, which is free;
  // the others are multiplied by their ratio to it.
  std::vector<double> shares(terms.size());
  for (std::size_t k = 0; k < terms.size(); ++k)
    if (counts[k] > 0) shares[k] = terms[k].weight / counts[k];
  const double first = *std::find_if(shares.begin(), shares.end(), [](double share) { return share != 0; });
  std::vector<double> totals(terms.size());
  const auto last = std::find_if(batches.rbegin(), batches.rend(), has_label);
  for (const Batch& batch : batches) {
    const Losses losses = objective.losses(trainee, batch, pass, options);
    Tensor loss;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      if (batch.counts[k] == 0) continue;
      const Tensor& term = losses.sums[k];
      totals[k] += term.item<double>();
      if (shares[k] == 0) continue;
      const Tensor part = shares[k] == first ? term : term * (shares[k] / first);
      loss = loss.defined() ? loss + part : part;
    }
    if (sum != nullptr && sum->overlaps() && last != batches.rend() && &batch == &*last) sum->begin();
    if (loss.defined() && loss.needs_gradient()) loss.backward();
  }
  if (sum != nullptr) {
    sum->finish();
    sum->ranks().sum(totals);
  }
  for (std::size_t k = 0; k < terms.size(); ++k) {
    result.terms.push_back(counts[k] > 0 ? totals[k] / counts[k] : std::numeric_limits<double>::quiet_NaN());
    result.loss += totals[k] * shares[k];
  }
  result.scale = first;
  return result;
}

}  // namespace attend
