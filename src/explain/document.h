// An Explanation as one JSON object. What it says is the same in every file; how its tensors are written is
// the file's own matter.
#pragma once

#include "explain/explanation.h"
#include "formats/json.h"

#include <functional>

namespace attend {

// What a tensor of the document holds.
enum class NumberUse {
  weights,  // from 0 to 1
  numbers,  // any
  values,   // what attention hands over
  added,    // what is added to scores: as many as weights, for each term
  states,   // hidden states
  whole,    // bytes, or integers
};

// What stands in the document for a tensor. `name` is unique: "attentions.self.3.query".
using PutTensor = std::function<Json(const std::string& name, const Tensor& tensor, NumberUse use)>;

Json describe(const Explanation& explanation, const PutTensor& put);

// The same content as one JSON file with all numbers, and as a safetensors file whose metadata hold the
// document under "explanation". Complete or not at all.
void write_json(const Explanation& explanation, const std::filesystem::path& path);
void write_tensors(const Explanation& explanation, const std::filesystem::path& path);

}  // namespace attend
