// Verbs that lie in both modules, and what they get of the one that trains; in the other it is empty, and
// where they would need it they throw NeedsTraining.
#pragma once

#include <attend/training.h>

#include "tasks/bench.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace attend::cli {

using EvaluateRecipe = std::function<std::vector<std::pair<std::string, double>>(const Recipe&)>;

int bench(int argc, char** argv, const TrainingWork& training_work);
int evaluate(int argc, char** argv, const EvaluateRecipe& evaluate_recipe);
int forward(int argc, char** argv);

}  // namespace attend::cli
