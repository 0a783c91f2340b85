// Which layers of a model have a window.
#pragma once

#include "formats/json/json.h"

#include <functional>

namespace attend {

// For each layer whether its attention has a window: from layer_types, or, if that is absent, from
// `usual`(layer). An Error for another kind of layer.
std::vector<bool> read_sliding_layers(const Fields& config, std::size_t layers,
                                      const std::function<bool(std::size_t layer)>& usual);

}  // namespace attend
