// Gradient checkpointing: computes layers again to save memory (Chen et al. 2016, arXiv:1604.06174).
#pragma once

#include "nn/pass/pass.h"
#include "nn/transformer/layer_weights.h"

#include <functional>

namespace attend {

// A function of tensors that may also read parameters and constants. All its randomness comes from the pass.
using Recomputable = std::function<Tensor(const std::vector<Tensor>& inputs, Pass& pass)>;

// function(inputs, pass), storing only the inputs for the gradient: the backward pass calls it again, with
// the pass as it was before. Gradients flow to `inputs` and to `parameters`, which must be everything the
// function reads that needs one; other gradients are lost. The gradients are those without recompute() to the
// last bit, if none of `inputs` is used elsewhere; if one is, pass a view of it (ops::alias), with
// recompute() and without.
// `weights`: brings the parameters into memory for each of the two computations; null: they are there.
Tensor recompute(const Recomputable& function, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& parameters, Pass& pass,
                 const std::shared_ptr<LayerWeights>& weights = nullptr);

}  // namespace attend
