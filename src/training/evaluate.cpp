#include "training/evaluate.h"

#include "base/progress.h"

namespace attend {

std::vector<Score> evaluate(Trainee& trainee, const Objective& objective, const BatchSize& size,
                            const ScoreListener& listener) {
  Trainee reader = trainee;  // keeps the carried state of training unchanged
  reader.carried.clear();
  Pass pass = Pass::inference();
  pass.gradients = false;
  const PassScope scope(pass);
  const std::vector<Term> terms = objective.terms();
  const std::unique_ptr<Meter> meter = objective.meter();
  std::vector<double> sums(terms.size());
  std::vector<std::int64_t> counts(terms.size());
  const auto batches = objective.batches(size, 0, 0, /*shuffled=*/false);
  Progress progress("validating", batches.size(), "batches");
  for (std::size_t i = 0; i < batches.size(); ++i) {
    Batch batch = objective.collate(batches[i], {});
    batch.examples = batches[i];
    const Losses losses = objective.losses(reader, batch, pass, {});
    for (std::size_t k = 0; k < terms.size(); ++k) {
      sums[k] += losses.sums[k].item<double>();
      counts[k] += batch.counts[k];
    }
    if (meter) meter->add(batch, losses.scores);
    if (listener) listener(batch, losses.scores);
    progress.update(i + 1);
  }
  double loss = 0;
  std::vector<Score> scores;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (counts[k] == 0) continue;
    const double mean = sums[k] / static_cast<double>(counts[k]);
    loss += terms[k].weight * mean;
    if (terms.size() > 1) scores.push_back({terms[k].name, mean, false});
  }
  if (std::all_of(counts.begin(), counts.end(), [](std::int64_t count) { return count == 0; }))
    fail("there is not a single label to measure the model by: is the data right?");
  scores.insert(scores.begin(), {"loss", loss, false});
  if (meter)
    for (Score& score : meter->scores()) scores.push_back(std::move(score));
  return scores;
}

std::vector<std::string> score_names(const Objective& objective) {
  std::vector<std::string> names = {"loss"};
  const std::vector<Term> terms = objective.terms();
  for (const Term& term : terms)
    if (terms.size() > 1) names.push_back(term.name);
  if (const std::unique_ptr<Meter> meter = objective.meter())
    for (const Score& score : meter->scores()) names.push_back(score.name);
  return names;
}

std::string telling_score(const Objective& objective) {
  const std::unique_ptr<Meter> meter = objective.meter();
  return meter ? meter->scores().front().name : "loss";
}

}  // namespace attend
