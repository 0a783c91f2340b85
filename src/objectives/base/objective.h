// Training objectives: examples become batches, batches become losses.
//
// A file per objective, a line in registry.cpp. Three ideas hold them together:
// - A batch depends only on (seed, epoch, indices of its examples). It is made on a separate thread, ahead
//   of the model, and a resumed run makes the same batches.
// - A loss is a sum over labels, term by term, and the batch knows how many labels each term has. The loop
//   divides every term by its count over the whole step, for any number of batches and processes.
// - Validation measures what the loss has computed anyway: its scores go to a Meter.
#pragma once

#include "base/random.h"
#include "models/families/labels.h"
#include "nn/losses/loss.h"
#include "objectives/base/batch.h"
#include "objectives/base/batches.h"
#include "objectives/base/trainee.h"

#include <memory>
#include <span>

namespace attend {

// A part of a loss. The total loss is the sum of weight * (sum over labels) / (number of labels). A term with
// weight 0 is only logged; nothing is learned from it.
struct Term {
  std::string name;
  double weight = 1;
  bool higher_is_better = false;
};

// The randomness of an example, which depends only on the seed, the epoch and the example's index.
struct Draws {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  Random of(std::int64_t example) const { return Random(Random(seed, epoch).next(), example); }
};

// A metric of a validation.
struct Score {
  std::string name;
  double value;
  bool higher_is_better;
};

// Accumulates a metric
class Meter {
 public:
  virtual ~Meter() = default;
  virtual void add(const Batch& batch, const Tensor& scores) = 0;
  virtual std::vector<Score> scores() const = 0;  // the primary metric first
};

// The result of a loss.
struct Losses {
  std::vector<Tensor> sums;  // a scalar for each of terms(), differentiable
  Tensor scores = {};        // for the Meter; may be undefined
  // [T, d]: the last hidden states, or, with a vocabulary head, those of the rows with token_labels. A
  // student also learns these; undefined if not available.
  Tensor hidden = {};
};

// How several processes may share a step.
enum class Sharing {
  examples,  // each takes some examples of every batch: a loss is a sum over independent examples
  batches,   // whole batches: examples of one are compared with each other
  nothing,   // a batch leaves state for the next one
};

class Objective {
 public:
  virtual ~Objective() = default;

  virtual std::vector<Term> terms() const { return {{"loss"}}; }

  // The example of an index may change from epoch to epoch.
  virtual void begin_epoch(std::uint64_t seed, std::int64_t epoch) {}
  virtual std::int64_t examples() const = 0;
  // How much of a batch the example takes: batches are filled by tokens.
  virtual std::int64_t tokens(std::int64_t example) const = 0;
  // The batches of an epoch, as indices of examples, with max tokens and (0: no limit) max examples. Default:
  // make_batches; an objective that needs a certain order overrides it.
  virtual std::vector<std::vector<std::int64_t>> batches(const BatchSize& size, std::uint64_t seed,
                                                         std::int64_t epoch, bool shuffled) const;
  virtual Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const = 0;

  // Reads only its arguments, because the next step's batches are made while it runs.
  virtual Losses losses(Trainee& trainee, const Batch& batch, Pass& pass,
                        const LossOptions& options) const = 0;
  virtual std::unique_ptr<Meter> meter() const { return nullptr; }

  // The labels of the model's score head; none for objectives without one.
  virtual std::optional<Labels> labels() const { return {}; }
  // The data's scores that mean 0 and 1, so that validation uses the same.
  virtual std::optional<std::pair<double, double>> score_range() const { return {}; }

  // How several processes may share a step.
  virtual Sharing sharing() const { return Sharing::examples; }
};

}  // namespace attend
