// The options of a recipe as data (formats/options/option.h): flags of `attend train`, keys of its recipe
// files, the tables of docs/options.md.
#pragma once

#include <attend/recipe.h>

#include "formats/options/option.h"

namespace attend {

// All options but those of the model, by subject. They set members of `recipe`, which must outlive them.
std::vector<OptionGroup> option_groups(Recipe& recipe);
// The same without titles.
Options options_of(Recipe& recipe);

// Those of the parts that have many (step_options.cpp, the others in recipe_options.cpp).
Options options_of(DataRecipe& data);
Options options_of(NoiseRecipe& noise);
Options options_of(LossRecipe& loss);
Options options_of(DistillationRecipe& distillation);
Options options_of(AdapterRecipe& adapter);
Options options_of(DurationRecipe& duration);
Options options_of(BatchRecipe& batch);
Options options_of(OptimizerRecipe& optimizer);
Options options_of(ScheduleRecipe& schedule);
Options options_of(ComputationRecipe& computation);
Options options_of(CheckpointRecipe& checkpoints);
Options options_of(ProcessRecipe& processes);

}  // namespace attend
