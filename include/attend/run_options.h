// What all calls that run a model over texts have in common.
#pragma once

#include <attend/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace attend {
inline namespace v1 {

// Called from time to time with the number of finished items and the total.
using OnProgress = std::function<void(std::size_t done, std::size_t total)>;

struct RunOptions {
  std::int64_t batch_tokens = 4096;  // tokens per forward pass
  OnProgress on_progress;
  // Index of the adapter to use, from 0 (-1: no adapter); absent: all adapters of the model.
  std::optional<std::int64_t> adapter = {};
  // Truncates texts at the maximum of the model and its tokenizer (model_max_length), and logs the first one.
  // If false, a longer text is an Error, unless a task says that it always truncates.
  bool truncate = false;
};

}  // namespace v1
}  // namespace attend
