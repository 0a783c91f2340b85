// The entries of a conversation, typed by a person or from a pipe.
#pragma once

#include "base/text_lines.h"
#include "cli/options/line_editor.h"

#include <optional>
#include <string>

namespace attend::cli {

class ChatInput {
 public:
  ChatInput();

  bool is_typed() const { return typed_; }
  // The next entry; none at the end. In a terminal, `prompt` is shown, Ctrl-C discards the current line, and
  // an entry may have several lines: a line that ends with a backslash is continued, and """ begins a text
  // that ends with """. In a pipe every line is an entry.
  std::optional<std::string> next(const std::string& prompt);

 private:
  std::optional<std::string> read_line(const std::string& prompt, bool& interrupted);

  StreamLines lines_;
  const std::unique_ptr<LineEditor> editor_;  // null: the terminal edits a line, without a history
  const bool typed_;
};

}  // namespace attend::cli
