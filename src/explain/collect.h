// Runs a model on an input and collects everything to show.
#pragma once

#include <attend/explain.h>
#include <attend/model_path.h>

#include "explain/attribute.h"

namespace attend {

// Throws Error for an input that the model does not read.
Explanation collect_explanation(const ModelPath& model, const ExplainInput& input,
                                const ExplainOptions& options = {});

}  // namespace attend
