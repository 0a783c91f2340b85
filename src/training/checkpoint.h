// Training checkpoints: everything a run needs to go on as if it had never stopped.
//
// OUTPUT/checkpoints/step-N/ is a model directory with two more files: optimizer.safetensors and
// training.json. It is written under another name and renamed, so what is there is whole.
#pragma once

#include "models/model.h"
#include "training/optimizer.h"

#include <filesystem>
#include <optional>

namespace attend {

// Where a run stands.
struct Progression {
  std::int64_t step = 0;   // steps done
  std::int64_t epoch = 0;  // of the next batch
  std::int64_t batch = 0;  // in that epoch, of the next batch
  double seconds = 0;      // spent so far
  std::int64_t tokens = 0;
  double best = 0;             // the best validation score so far
  std::int64_t best_step = 0;  // 0: none yet
  std::int64_t worse = 0;      // validations since
};

class Checkpoints {
 public:
  explicit Checkpoints(std::filesystem::path output) : output_(std::move(output)) {}

  void save(const Model& model, const AdamOptimizer& optimizer, const Progression& at) const;
  // Removes all but the newest one, the best one, and the newest `keep` of those whose step `every` divides.
  // (A run that was interrupted in between leaves one more, which must not count.)
  void prune(std::size_t keep, std::int64_t every, std::int64_t best_step) const;
  // The newest whole checkpoint; nothing if there is none.
  std::optional<std::filesystem::path> newest() const;
  // Weights, optimizer and standing from a checkpoint.
  static Progression restore(const std::filesystem::path& checkpoint, Model& model, AdamOptimizer& optimizer);

  // All whole checkpoints, the oldest first.
  std::vector<std::filesystem::path> all() const;
  std::filesystem::path of_step(std::int64_t step) const;
  static std::int64_t step_of(const std::filesystem::path& checkpoint);  // -1: not one

 private:
  std::filesystem::path output_;
};

// The mean of the weights of several checkpoints (Vaswani et al. 2017, section 6.1), into the model.
void average_weights(const std::vector<std::filesystem::path>& checkpoints, Model& model);

}  // namespace attend
