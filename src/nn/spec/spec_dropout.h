// Overrides the dropout rates of a model, independent of their names in config.json.
#pragma once

#include "nn/spec/spec.h"

#include <optional>

namespace attend {

// A rate without a value stays as in the spec.
struct DropoutRates {
  // For everything: embeddings, sublayer results, attention weights, vectors of distances, convolutions and
  // heads; after activations and the last layer only if the family has dropout there.
  std::optional<double> all = {};
  // For attention weights, and after activations (in every family); these override `all`.
  std::optional<double> attention = {}, activation = {};
};

void set_dropout(ModelSpec& model, const DropoutRates& rates);

}  // namespace attend
