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
#include "training/processes/sharded_layers.h"

#include <functional>

namespace attend {

struct TrainingOptions {
  std::filesystem::path output;  // becomes a model directory, with checkpoints in it
  DurationRecipe duration;
  BatchSize batch;
  std::int64_t accumulate = 1;  // batches per step
  Schedule schedule;            // its warm-up follows from `warmup`, its total from steps or epochs
  double warmup = 0;            // steps; below 1: a fraction of all steps
  ReduceOnPlateau plateau;      // of the schedule of that name, by the metric for the best checkpoint
  OptimizerOptions optimizer;
  ParameterGroupOptions groups;
  double max_grad_norm = 0;  // of all gradients together; 0: no limit
  double ema = 0;  // decay of the weights' running average, which is validated and saved; 0: no average
  LossOptions loss;
  // In the matrix products of steps, if the machine is faster with it (nn/linear/linear.h).
  bool bfloat16 = false;
  bool gradient_checkpointing = false;  // layers are computed again in the backward pass, which saves memory
  std::uint64_t seed = 1;
  CheckpointRecipe checkpoints;
  Report report = {};  // of run.html: all but its state
  // Processes that train together, each with its own trainee of the same weights; null: only this one. Batch
  // sizes and metrics are those of all together. Only the first reads and writes `output`.
  Ranks* ranks = nullptr;
  LocalStepOptions local = {};   // local steps of each process
  bool shard_optimizer = false;  // each process keeps the optimizer's state of some of the parameters
  // The trainee's layers, if the processes divide their weights too; null: each process has all weights.
  ShardedLayers* layers = nullptr;
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
