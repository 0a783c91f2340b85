// Training checkpoints: everything that a run needs to continue exactly.
//
// OUTPUT/checkpoints/step-N/ is a model directory with the auxiliary files of OUTPUT and these files:
// optimizer.safetensors, training.json and, if batches carry state, carried.safetensors. It is written under
// another name and then renamed, so every checkpoint with this name is complete.
#pragma once

#include "objectives/base/trainee.h"
#include "training/batch_stream.h"
#include "training/optimizers/schedule.h"

#include <filesystem>
#include <optional>

namespace attend {

// The position of a run.
struct RunPosition {
  std::int64_t step = 0;  // steps done
  DataPlace place;
  double seconds = 0;          // spent so far
  std::int64_t tokens = 0;     // number of labels in the loss
  double best = 0;             // the best validation score so far
  std::int64_t best_step = 0;  // 0: none yet
  std::int64_t worse = 0;      // validations since the best score
  ReduceOnPlateau::State plateau;
  std::vector<std::int64_t> validated;  // the steps after which the run has validated
};

// A checkpoint's other tensors, by name: of the optimizer, of averages.
using TrainingState = std::map<std::string, Tensor>;

std::string to_text(const RunPosition& at);  // JSON
// Errors name `source`.
RunPosition read_run_position(const std::string& text, const std::string& source);

class Checkpoints {
 public:
  explicit Checkpoints(std::filesystem::path output) : output_(std::move(output)) {}

  void save(const Trainee& trainee, const TrainingState& state, const RunPosition& at) const;
  // Removes unfinished checkpoints of a killed run.
  void clean() const;
  // Removes all but the newest one, the best one, and the newest `keep` of the validated ones.
  void prune(std::size_t keep, const RunPosition& at) const;
  // The newest complete checkpoint; none if there is none.
  std::optional<std::filesystem::path> newest() const;
  // Restores the weights and the carried state of the trainee.
  static RunPosition restore(const std::filesystem::path& checkpoint, Trainee& trainee, TrainingState& state,
                             const AfterReading& after_reading = {});

  static TrainingState state_in(const std::filesystem::path& checkpoint);

  // All complete checkpoints, the oldest first.
  std::vector<std::filesystem::path> all() const;
  std::filesystem::path of_step(std::int64_t step) const;
  static std::int64_t step_of(const std::filesystem::path& checkpoint);  // -1: not a checkpoint

 private:
  std::filesystem::path output_;
};

// Copies the models or adapters in a checkpoint, without the state of the run.
void copy_model(const std::filesystem::path& checkpoint, const std::filesystem::path& to);

// The mean of the weights of several checkpoints (Vaswani et al. 2017, section 6.1), into the trainee.
void average_weights(const std::vector<std::filesystem::path>& checkpoints, Trainee& trainee);

}  // namespace attend
