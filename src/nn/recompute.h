// Gradient checkpointing: computes layers again to save memory (Chen et al. 2016, arXiv:1604.06174).
#pragma once

#include "nn/pass.h"

#include <functional>

namespace attend {

// A function of tensors, and of parameters and constants beside. Whatever is random in it comes from the
// pass.
using Recomputable = std::function<Tensor(const std::vector<Tensor>& inputs, Pass& pass)>;

// function(inputs, pass), of which nothing is kept for the gradient but the inputs: the backward pass calls
// it once more, with the pass as it stood before. Gradients flow to `inputs` and to `parameters`: all that
// the function reads and that needs one; to anything else they are lost. Gradients are those without
// recompute() to the last bit, if each of `inputs` is used nowhere else; where it is, give a view
// (ops::alias) in its place, with and without.
Tensor recompute(const Recomputable& function, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& parameters, Pass& pass);

}  // namespace attend
