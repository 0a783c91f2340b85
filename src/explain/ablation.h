// How much each head contributes on a data set: evaluates the model without it (Michel et al. 2019,
// arXiv:1905.10650).
#pragma once

#include <attend/training.h>

#include "explain/explanation.h"

namespace attend {

struct AblationOptions {
  std::vector<std::string> files = {};    // in the formats that attend evaluate reads them
  std::string task = {};                  // an objective; empty: the objective of the model's head
  DataRecipe data = {};                   // of which tables need format, columns and header
  std::vector<std::int64_t> layers = {};  // only heads of these layers; empty: of all
};

// Metrics of the model with each head in turn switched off: the head's values are zero. Layers that share
// their weights lose the head together. Throws the errors of evaluate(), and an Error for a model that has no
// trained objective.
Ablation ablate(const ModelPath& model, const AblationOptions& options);

}  // namespace attend
