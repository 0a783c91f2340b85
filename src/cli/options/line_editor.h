// Lines that a person edits in a terminal, with a history of earlier ones.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace attend::cli {

class LineEditor {
 public:
  virtual ~LineEditor() = default;

  // The next line; nothing at the end. Ctrl-C leaves the line, and sets `interrupted`. A line is kept in the
  // history unless it begins with a space.
  virtual std::optional<std::string> next(const std::string& prompt, bool& interrupted) = 0;
};

// Null if standard input and output are not a terminal, and in a build without libedit. The history is in
// $XDG_STATE_HOME/attend/history (by default ~/.local/state), which only its owner can read.
std::unique_ptr<LineEditor> make_line_editor();

}  // namespace attend::cli
