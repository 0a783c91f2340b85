// Overrides the dropout rates of a model, whatever its family calls them in config.json.
#pragma once

#include "nn/spec.h"

#include <optional>

namespace attend {

// What a rate is not given for stays as the spec has it.
struct DropoutRates {
  // Of everything: embeddings, what sublayers add, attention weights, vectors of distances, convolutions and
  // heads; behind activations and the last layer where the family drops something there.
  std::optional<double> all = {};
  // Of attention weights, and behind activations (in every family), whatever `all` says.
  std::optional<double> attention = {}, activation = {};
};

void set_dropout(ModelSpec& model, const DropoutRates& rates);

}  // namespace attend
