// Modules of the original that share one of our matrices: the token tables and the head over the vocabulary.
// If an adapter replaces one of them whole (peft's modules_to_save), the others stay unchanged.
#pragma once

#include "models/family.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attend {

// Has an adapter the module of this original name whole?
using OwnsModule = std::function<bool(const std::string& module)>;

// The spec with a matrix for each of these modules, if an adapter has one of them whole; else nothing. Error
// for a family whose checkpoints have no name for a matrix of the head's own.
std::optional<ModelSpec> untied(const Family& family, const ModelSpec& spec, const OwnsModule& owns);

// The family's weight names for it, in which no name is that of two matrices.
std::vector<WeightName> untied_names(const Family& family, const ModelSpec& spec);

// The parameter that is the one matrix in the model of this spec, of which `parameter` of an untied model is
// a copy at first; `parameter` itself if it is none.
std::string tied_parameter(const ModelSpec& tied, const std::string& parameter);

}  // namespace attend
