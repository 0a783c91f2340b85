// Tensors by name that a checkpoint keeps beside the weights.
#pragma once

#include "tensor/tensor.h"

#include <map>

namespace attend {

// Fills the tensors of `to` with those of the same names. Error that calls them "the checkpoint's <what>",
// and nothing has changed, if one is missing, of another shape or type, or not finite.
void restore_state(const std::map<std::string, Tensor>& to, const std::map<std::string, Tensor>& from,
                   const char* what);

}  // namespace attend
