// Calls of tools that a model makes in its answer.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attend {
inline namespace v1 {

struct ToolCall {
  std::string name;
  std::string arguments;  // a JSON object; incomplete if the answer was cut off
  std::string id = {};    // names the call in the history, where the model's format has ids

  bool operator==(const ToolCall&) const = default;
};

// A part of a call in an answer that is streamed. The first part of a call has its name; the arguments of all
// its parts are one JSON text.
struct ToolCallPiece {
  std::size_t index = 0;  // of the call among those of the answer
  std::string name = {}, arguments = {};

  bool operator==(const ToolCallPiece&) const = default;
};

}  // namespace v1
}  // namespace attend
