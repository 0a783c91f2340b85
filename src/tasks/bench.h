// Timing one kind of work on one model, for `attend bench` and the comparisons in benchmarks/.
#pragma once

#include <attend/model_path.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace attend {

class PretrainedModel;

struct BenchOptions {
  ModelPath model;                    // of generate: with adapters, text i has adapter i modulo their number
  std::string work = "encode";        // encode, image, generate, translate or train
  std::int64_t batch = 1;             // sequences
  std::int64_t length = 128;          // tokens of each
  std::vector<std::int64_t> lengths;  // instead of batch and length: sequences of mixed lengths
  std::int64_t new_tokens = 40;       // of generate and translate
  std::int64_t beams = 1;
  std::int64_t rounds = 5;
  std::int64_t pause = 0;  // milliseconds between rounds
  bool bfloat16 = false;   // for train: in matrix products, as in TrainingOptions
};

struct BenchResult {
  std::vector<double> seconds_per_round;
  std::int64_t items = 0;  // in one round
  std::string unit;
};

// A round of training: forward, backward and an optimizer step (training/bench.h).
using TrainingWork = std::function<std::function<void()>(
    const PretrainedModel& model, const std::vector<std::vector<std::int64_t>>& sequences, bool bfloat16)>;

// One unmeasured round, then `rounds` measured ones, on random tokens.
BenchResult bench(const BenchOptions& options, const TrainingWork& training_work = {});

}  // namespace attend
