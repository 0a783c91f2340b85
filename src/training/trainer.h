// The training loop.
#pragma once

#include "training/checkpoint.h"
#include "training/objective.h"
#include "training/schedule.h"

#include <functional>

namespace attend {

struct TrainingOptions {
  std::filesystem::path output;     // becomes a model directory; checkpoints lie in it
  std::filesystem::path tokenizer;  // a directory whose tokenizer goes with the result; empty: none does
  std::int64_t steps = 0;           // 0: as many as `epochs` or `minutes` allow
  double epochs = 0;                // 0: no limit
  double minutes = 0;               // of the whole run, over all resumptions; 0: no limit
  std::int64_t batch_tokens = 4096;
  std::int64_t accumulate = 1;  // batches to a step
  Schedule schedule;
  AdamOptions adam;
  LossOptions loss;
  bool bfloat16 =
      false;  // in the matrix products of steps, where the machine is faster with it (nn/linear.h)
  std::uint64_t seed = 1;
  std::int64_t validate_every = 500;  // steps; a checkpoint is written then too
  std::int64_t patience = 0;          // validations without a better score before the run ends; 0: never
  std::int64_t average = 1;           // checkpoints whose mean the result is; 1: the best checkpoint itself
  bool resume = false;                // go on from the newest checkpoint in `output`
};

// The validation's figures by name ("loss", "bleu"); the first decides which checkpoint is best.
struct Score {
  std::string name;
  double value;
  bool higher_is_better;
};
using Validate = std::function<std::vector<Score>(Model&)>;

enum class TrainingEnd { finished, interrupted };

// Trains `model` on `objective` and leaves the result in options.output: the best checkpoint, or the mean of
// the last ones. Writes metrics.jsonl and TensorBoard events, shows progress, saves on Ctrl-C. With `resume`,
// a run that was stopped at any moment ends with exactly the weights of one that was not (same machine, same
// number of threads). Error, and nothing in `output` is touched, if another run is writing there, if a run
// has been there and `resume` is not set, or if a model is there that no run has left.
TrainingEnd train(Model& model, Objective& objective, const Validate& validate,
                  const TrainingOptions& options);

// The mean loss of a data set.
double mean_loss(Model& model, const Objective& objective, std::int64_t batch_tokens);

}  // namespace attend
