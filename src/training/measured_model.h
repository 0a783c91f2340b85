// A model and its evaluation data, to be evaluated any number of times. evaluate(Recipe) does it once.
#pragma once

#include <attend/training.h>

#include "training/evaluate.h"

namespace attend {

class MeasuredModel {
 public:
  // Loads model and data of the recipe, as evaluate() does, with the same Errors.
  explicit MeasuredModel(const Recipe& recipe);
  ~MeasuredModel();
  MeasuredModel(const MeasuredModel&) = delete;
  MeasuredModel& operator=(const MeasuredModel&) = delete;

  const PretrainedModel& model() const;
  const std::string& objective() const;  // by name
  std::vector<Score> measure(const ScoreListener& listener = {}) const;
  std::string main_score() const;  // the default metric for comparisons

 private:
  friend std::vector<std::pair<std::string, double>> v1::evaluate(const Recipe& recipe);
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace attend
