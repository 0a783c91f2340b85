// Which tensors of a network are trained, and the learning rate of each: freezing, layer-wise rates, weight
// decay.
#pragma once

#include "training/optimizers/optimizer.h"

namespace attend {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

NamedTensors named_parameters(const Module& network);

struct ParameterGroupOptions {
  // The frozen tensors; each entry is one of
  //   embeddings    and everything else before the first layer or shared by all layers (patches, distances)
  //   encoder, decoder
  //   layers.A-B    or layers.A, counted from 0, of both stacks; encoder.layers.A-B of one
  //   all-but-head  everything except the layers that compute scores; a pooler is not a head
  // or a regular expression of whole names: ".*\.self_attention\..*".
  std::vector<std::string> frozen = {};
  // The rate of a layer is multiplied by layer_decay^(1 + layers above it in its stack), that of embeddings
  // by one power more (Clark et al. 2020, arXiv:2003.10555; counted as Bao et al. 2021, arXiv:2106.08254).
  double layer_decay = 1;
  double head_rate = 1;  // factor of the rate of heads, which are often new
};

// The parameters to train among `tensors`, whose names are those of our modules, optionally with a prefix
// ("generator.encoder.layers.0.feed_forward.in.weight"). Frozen tensors no longer require a gradient. Throws
// Error if a pattern matches nothing, a layer index is out of range, or nothing is left to train.
std::vector<Parameter> parameter_groups(const NamedTensors& tensors,
                                        const ParameterGroupOptions& options = {});

}  // namespace attend
