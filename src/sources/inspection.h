// The content of `attend inspect`: a description of a model directory, from its files alone; no model is
// built.
#pragma once

#include <attend/inspect.h>

#include "sources/sentence_modules.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attend {

struct Inspection : ModelInfo {
  std::optional<SentenceDirectory> sentences;  // how it makes vectors from texts, if it can
  Json generation;                             // as in ModelDirectory::generation_config
};

// `check_values` reads all weights and searches for NaN, infinity, and numbers so large that their squares
// overflow.
Inspection inspect_model(const ModelDirectory& directory, const WeightFiles& checkpoint, bool check_values);

struct OddValues {
  std::uint64_t nan = 0, infinite = 0;
  std::uint64_t huge = 0;  // 2^64 and more: a norm of such numbers overflows in float32
};
OddValues count_odd_values(const TensorView& tensor);  // none in an integer tensor

}  // namespace attend
