#include "training/evaluate.h"

#include "base/progress.h"
#include "training/packed.h"

namespace attend {
namespace {

// The model's results for a batch.
struct Said {
  std::vector<double> sums;  // of each term
  Tensor scores;
};

// Adds up the results of one batch after another, in order.
class Evaluation {
 public:
  Evaluation(const Objective& objective, const ScoreListener& listener)
      : terms_(objective.terms()),
        meter_(objective.meter()),
        listener_(listener),
        sums_(terms_.size()),
        counts_(terms_.size()) {}

  void add(const Batch& batch, const Said& said) {
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      sums_[k] += said.sums[k];
      counts_[k] += batch.counts[k];
    }
    if (meter_) meter_->add(batch, said.scores.home());
    if (listener_) listener_(batch, said.scores);
  }

  std::vector<Score> scores() const {
    double loss = 0;
    std::vector<Score> scores;
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      if (counts_[k] == 0) continue;
      const double mean = sums_[k] / static_cast<double>(counts_[k]);
      loss += terms_[k].weight * mean;
      if (terms_.size() > 1) scores.push_back({terms_[k].name, mean, terms_[k].higher_is_better});
    }
    if (std::all_of(counts_.begin(), counts_.end(), [](std::int64_t count) { return count == 0; }))
      fail("there is not a single label to measure the model by: is the data right?");
    scores.insert(scores.begin(), {"loss", loss, false});
    if (meter_)
      for (Score& score : meter_->scores()) scores.push_back(std::move(score));
    return scores;
  }

 private:
  std::vector<Term> terms_;
  std::unique_ptr<Meter> meter_;
  const ScoreListener& listener_;
  std::vector<double> sums_;
  std::vector<std::int64_t> counts_;
};

Batch collated(const Objective& objective, const std::vector<std::int64_t>& examples) {
  Batch batch = objective.collate(examples, {});
  batch.examples = examples;
  return batch;
}

std::string pack(const Said& said) {
  Packer packer;
  for (const double sum : said.sums) packer.add(sum);
  packer.add(said.scores);
  return packer.text();
}

Said unpack_said(const std::string& text, std::size_t terms) {
  Unpacker packed(text);
  Said said;
  for (std::size_t k = 0; k < terms; ++k) said.sums.push_back(packed.number());
  said.scores = packed.tensor();
  return said;
}

std::string pack(const std::vector<Score>& scores) {
  Packer packer;
  for (const Score& score : scores) {
    packer.add(score.name);
    packer.add(score.value);
    packer.add(score.higher_is_better ? 1.0 : 0.0);
  }
  return packer.text();
}

std::vector<Score> unpack_scores(const std::string& text) {
  Unpacker packed(text);
  std::vector<Score> scores;
  while (!packed.done()) {
    std::string name = packed.name();
    const double value = packed.number();
    scores.push_back({std::move(name), value, packed.number() > 0});
  }
  return scores;
}

}  // namespace

std::vector<Score> share_scores(const std::vector<Score>& scores, Ranks& ranks) {
  return ranks.alone() ? scores
                       : unpack_scores(ranks.broadcast(ranks.first() ? pack(scores) : std::string()));
}

// Processes take batches in turn, because neighbouring batches have about the same length. The first process
// adds up the results of all.
std::vector<Score> evaluate(Trainee& trainee, const Objective& objective, const BatchSize& size,
                            const ScoreListener& listener, Ranks& ranks) {
  Trainee reader = trainee;  // state that batches leave must not reach the next training batch
  reader.carried.clear();
  Pass pass = Pass::inference();
  pass.gradients = false;
  const PassScope scope(pass);
  Evaluation evaluation(objective, listener);
  const std::size_t terms = objective.terms().size();
  const auto batches = objective.batches(size, 0, 0, /*shuffled=*/false);
  Progress progress("validating", batches.size(), "batches");
  const auto count = static_cast<std::size_t>(ranks.size());
  for (std::size_t round = 0; round < batches.size(); round += count) {
    ranks.at(fmt::format("validation, batch {} of {}", round + 1, batches.size()));
    std::string own;
    if (const std::size_t i = round + static_cast<std::size_t>(ranks.rank()); i < batches.size()) {
      const Batch batch = collated(objective, batches[i]);
      const Losses losses = objective.losses(reader, batch, pass, {});
      Said said{{}, losses.scores};
      for (const Tensor& sum : losses.sums) said.sums.push_back(sum.item<double>());
      if (ranks.alone())
        evaluation.add(batch, said);
      else
        own = pack(said);
    }
    if (!ranks.alone()) {
      const std::vector<std::string> all = ranks.gather(own);
      for (std::size_t k = 0; ranks.first() && k < count && round + k < batches.size(); ++k)
        evaluation.add(collated(objective, batches[round + k]), unpack_said(all[k], terms));
    }
    progress.update(std::min(round + count, batches.size()));
  }
  return share_scores(ranks.first() ? evaluation.scores() : std::vector<Score>(), ranks);
}

std::vector<Score> evaluate(Trainee& trainee, const Objective& objective, const BatchSize& size,
                            const ScoreListener& listener) {
  Ranks alone;
  return evaluate(trainee, objective, size, listener, alone);
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

std::string main_score(const Objective& objective) {
  const std::unique_ptr<Meter> meter = objective.meter();
  return meter ? meter->scores().front().name : "loss";
}

const Score& find_score(const std::vector<Score>& scores, const std::string& name) {
  std::vector<std::string> names;
  for (const Score& score : scores) {
    if (score.name == name) return score;
    names.push_back(score.name);
  }
  fail("there is no metric {}: expected {}", name, fmt::join(names, ", "));
}

}  // namespace attend
