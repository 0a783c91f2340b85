// Named tensors that a checkpoint stores in addition to the weights.
#pragma once

#include "tensor/tensor.h"

#include <map>

namespace attend {

// Fills the tensors of `to` with those of the same names. If one is missing, has another shape or type, or is
// not finite, throws an Error about "the checkpoint's <what>" and changes nothing.
void restore_state(const std::map<std::string, Tensor>& to, const std::map<std::string, Tensor>& from,
                   const char* what);

}  // namespace attend
