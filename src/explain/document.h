// An Explanation as one JSON object. Its content is the same in every file; each file type writes the tensors
// in its own way.
#pragma once

#include "explain/explanation.h"
#include "formats/json/json.h"

#include <functional>

namespace attend {

// The kind of numbers in a tensor.
enum class NumberUse {
  weights,  // from 0 to 1
  numbers,  // any
  values,   // the values of attention
  added,    // terms added to scores: the size of the weights, for each term
  states,   // hidden states
  whole,    // bytes, or integers
};

// Returns the JSON that represents a tensor. `name` is unique: "attentions.self.3.query".
using PutTensor = std::function<Json(const std::string& name, const Tensor& tensor, NumberUse use)>;

Json describe(const Explanation& explanation, const PutTensor& put);

// With all numbers, as nested lists.
Json as_json(const Explanation& explanation);
// The same content as one JSON file with all numbers, or as a safetensors file with the document in its
// metadata field "explanation". Files are written atomically.
void write_json(const Explanation& explanation, const std::filesystem::path& path);
void write_tensors(const Explanation& explanation, const std::filesystem::path& path);

}  // namespace attend
