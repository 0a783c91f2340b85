// What a person types in a conversation, or a pipe brings.
#pragma once

#include "base/text_lines.h"

#include <optional>
#include <string>

namespace attend::cli {

class ChatInput {
 public:
  ChatInput();

  bool is_typed() const { return typed_; }
  // The next entry; nothing at the end. Where it is typed, `prompt` asks for it, Ctrl-C leaves the line that
  // was begun, and an entry may have several lines: one that ends with a backslash is continued, and """
  // begins a text that ends with """. In a pipe every line is an entry.
  std::optional<std::string> next(const std::string& prompt);

 private:
  std::optional<std::string> read_line(const std::string& prompt, bool& interrupted);

  StreamLines lines_;
  const bool typed_;
};

}  // namespace attend::cli
