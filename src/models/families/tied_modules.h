// Modules of the original that share one of our matrices: the token tables and the head over the vocabulary.
// If an adapter replaces one of them whole (peft's modules_to_save), the others stay unchanged.
#pragma once

#include "models/families/family.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attend {

// Whether an adapter has the module of this original name whole.
using OwnsModule = std::function<bool(const std::string& module)>;

// The spec with a separate matrix for each of these modules, if an adapter has one of them whole; else none.
// An Error for a family whose checkpoints have no name for a separate matrix of the head.
std::optional<ModelSpec> untied(const Family& family, const ModelSpec& spec, const OwnsModule& owns);

// The family's weight names for this spec; no two matrices have the same name.
std::vector<WeightName> untied_names(const Family& family, const ModelSpec& spec);

// The parameter in the model of spec `tied` from which `parameter` of an untied model is initially copied;
// `parameter` itself if it is not a copy.
std::string tied_parameter(const ModelSpec& tied, const std::string& parameter);

}  // namespace attend
