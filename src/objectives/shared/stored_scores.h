// A model's scores over labels for each example of a data set, in a file. `attend evaluate --save-scores`
// writes it, and a student learns from it without its teacher.
//
// A safetensors file: "scores" [examples, labels] in the order of the data, and in the metadata "labels", a
// JSON list of their names, and "problem_type" as in config.json.
#pragma once

#include "models/families/labels.h"
#include "objectives/base/objective.h"

#include <filesystem>

namespace attend {

struct StoredScores {
  Labels labels;
  Tensor scores;  // [examples, labels], float32

  // Throws Error for a file in another format.
  static StoredScores read(const std::filesystem::path& path);
  void write(const std::filesystem::path& path) const;
};

// Collects the scores of an evaluation, batch by batch. Throws Error for scores without exactly one row per
// example.
class ScoreCollector {
 public:
  explicit ScoreCollector(const Objective& objective) : examples_(objective.examples()) {}
  void add(const Batch& batch, const Tensor& scores);
  const Tensor& scores() const { return scores_; }

 private:
  std::int64_t examples_;
  Tensor scores_;
};

}  // namespace attend
