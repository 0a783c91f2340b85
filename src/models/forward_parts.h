// What the ways through a model share: inputs by name, results by name, captured states as outputs.
#pragma once

#include "models/model.h"
#include "models/padded.h"

#include <set>

namespace attend {

using Tensors = std::map<std::string, Tensor>;

struct Result {
  Tensors out;
  Tensor loss;
};

// Undefined where there is none of this name.
Tensor find(const Tensors& inputs, std::string_view name);
// Error for an input that is not known.
void check_names(const Tensors& inputs, const std::set<std::string>& known);
// The labels that this model's heads take.
std::set<std::string> label_inputs(Transformer& net);

// `capture` of one stack, under the names that begin with `prefix`.
void put_captured(Tensors& out, const std::string& prefix, const Capture::Stack& stack,
                  const Padded& queries);
// What was captured of `whole`, without the rows that are padding in `given`.
void keep_real_rows(Capture::Stack& stack, const Padded& whole, const Padded& given);

// For a model that reads images: pixel_values [B, channels, H, W], and bool_masked_pos [B, patches] where it
// fills in hidden patches.
Result forward_images(const Model& model, const Tensors& inputs, Pass& pass);

}  // namespace attend
