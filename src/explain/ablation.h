// The worth of each head on a data set: evaluates the model without it (Michel et al. 2019,
// arXiv:1905.10650).
#pragma once

#include <attend/training.h>

#include "explain/explanation.h"

namespace attend {

struct AblationOptions {
  std::vector<std::string> files = {};  // as attend evaluate reads them
  std::string task = {};                // an objective; empty: that of the model's head
  std::string format = {}, columns = {};
  std::optional<bool> header = {};
  std::vector<std::int64_t> layers = {};  // of these alone; empty: of all
};

// The model's figures with each head in turn handing over nothing: its values are zero. Layers that share
// their weights lose the head together. Error as of evaluate(), and for a model that has learned no
// objective.
Ablation ablate(const ModelPath& model, const AblationOptions& options);

}  // namespace attend
