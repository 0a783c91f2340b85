// The training loop.
#pragma once

#include <attend/training.h>

#include "parallel/ranks.h"
#include "training/checkpoint.h"
#include "training/evaluate.h"
#include "training/logs/report.h"
#include "training/logs/sample_log.h"
#include "training/optimizers/local_steps.h"
#include "training/optimizers/optimizer.h"
#include "training/optimizers/parameter_groups.h"
#include "training/optimizers/schedule.h"

#include <functional>

namespace attend {

struct TrainingOptions {
  std::filesystem::path output;  // becomes a model directory, with checkpoints in it
  std::int64_t steps = 0;        // 0: until `epochs` or `minutes` are reached
  double epochs = 0;             // 0: no limit
  double minutes = 0;            // of the whole run, over all resumptions; 0: no limit
  BatchSize batch;
  std::int64_t accumulate = 1;  // batches per step
  Schedule schedule;            // its warm-up follows from `warmup`, its total from steps or epochs
  double warmup = 0;            // steps; below 1: a fraction of all steps
  ReduceOnPlateau plateau;      // of the schedule of that name, by the metric for the best checkpoint
  OptimizerOptions optimizer;
  ParameterGroupOptions groups;
  double clip = 0;  // max norm of all gradients together; 0: no limit
  double ema = 0;   // decay of the weights' running average, which is validated and saved; 0: no average
  LossOptions loss;
  bool bfloat16 =
      false;  // in the matrix products of steps, if the machine is faster with it (nn/linear/linear.h)
  bool recompute = false;  // layers are computed again in the backward pass, which saves memory
  std::uint64_t seed = 1;
  std::int64_t validate_every = 0;  // steps, each with a checkpoint; 0: after each epoch
  std::int64_t save_every = 0;      // steps between additional checkpoints; 0: none
  std::string best = {};            // metric for the best checkpoint; empty: the first one
  std::int64_t patience = 0;        // validations without a better score before the run ends; 0: never
  std::int64_t keep = 1;            // newest validated checkpoints to keep, plus the best
  std::int64_t average = 1;         // average of this many checkpoints; 1: the best one
  std::filesystem::path save_batches =
      {};               // a folder for the inputs of each step (objectives/base/batch_tensors.h); empty: none
  Report report = {};   // of run.html: all but its state
  bool resume = false;  // continue from the newest checkpoint in `output`
  // Processes that train together, each with its own trainee of the same weights; null: only this one. Batch
  // sizes and metrics are those of all together. Only the first reads and writes `output`.
  Ranks* ranks = nullptr;
  LocalStepOptions local = {};   // local steps of each process
  bool shard_optimizer = false;  // each process keeps the optimizer's state of some of the parameters
};

// Callbacks of a run.
struct TrainingHooks {
  // Called between steps: true saves and ends the run.
  std::function<bool()> stop = {};
  // Metrics in addition to those of evaluate() (BLEU of greedy translations); the first one selects the best
  // checkpoint.
  std::function<std::vector<Score>(Trainee&)> measure = {};
  // Writes the auxiliary files of the result: tokenizer, preprocessor. Called before the first step.
  std::function<void(const std::filesystem::path&)> write_extra_files = {};
  // The model's outputs for a few held-out examples, for people to read.
  std::function<std::vector<Sample>(Trainee&)> sample = {};
};

// Trains on `objective` and writes the result to options.output: the best checkpoint by `held_out` (null: the
// last one), or the mean of the last ones. Writes metrics.jsonl and TensorBoard events, shows progress. With
// `resume`, a run that was stopped at any moment ends with exactly the weights of one that was not (same
// machine, same number of threads). Throws Error, and leaves `output` unchanged, if it has a run and `resume`
// is not set, or if it has a model that no run has written. The caller must keep other runs out of it (a
// DirectoryLock).
TrainingEnd train(Trainee& trainee, Objective& objective, const Objective* held_out,
                  const TrainingOptions& options, const TrainingHooks& hooks = {});

}  // namespace attend
