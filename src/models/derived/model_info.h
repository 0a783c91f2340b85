// The description of a model's files, with the architecture that they fit.
#pragma once

#include "sources/inspection.h"
#include "sources/model_directory.h"

namespace attend {

// inspect_model(), and the architecture by which the model is loaded if config.json does not name it.
Inspection describe_model(const ModelDirectory& directory, const WeightFiles& checkpoint, bool check_values);

}  // namespace attend
