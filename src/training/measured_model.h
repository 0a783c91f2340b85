// A model and the data it is measured on, any number of times: what evaluate() of a recipe does once.
#pragma once

#include <attend/training.h>

#include "training/evaluate.h"

namespace attend {

class MeasuredModel {
 public:
  // Reads what the recipe names, as evaluate() does, with its Errors.
  explicit MeasuredModel(const Recipe& recipe);
  ~MeasuredModel();
  MeasuredModel(const MeasuredModel&) = delete;
  MeasuredModel& operator=(const MeasuredModel&) = delete;

  const PretrainedModel& model() const;
  const std::string& objective() const;  // by name
  std::vector<Score> measure(const ScoreListener& listener = {}) const;
  std::string telling_score() const;  // the name of the score that tells better from worse

 private:
  friend std::vector<std::pair<std::string, double>> evaluate(const Recipe& recipe);
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace attend
