#include "cli/options/chat_input.h"

#include "base/interrupt.h"
#include "cli/options/text_lines.h"

#include <poll.h>
#include <unistd.h>

namespace attend::cli {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";
constexpr const char* kMore = "... ";

}  // namespace

ChatInput::ChatInput()
    : lines_(std::cin, "standard input"), editor_(make_line_editor()), typed_(isatty(STDIN_FILENO) != 0) {}

std::optional<std::string> ChatInput::read_line(const std::string& prompt, bool& interrupted) {
  if (editor_) return editor_->next(prompt, interrupted);
  if (typed_) {
    write_now(prompt);
    for (pollfd input = {STDIN_FILENO, POLLIN, 0}; poll(&input, 1, 100) <= 0;)
      if (take_interrupt()) {
        interrupted = true;
        return std::string();
      }
  }
  std::optional<std::string> line = lines_.next();
  if (line)
    take_interrupt();  // discards an interrupt that came just before the line: it does not belong to the
                       // answer
  else if (typed_)
    write_now("\n");
  return line;
}

std::optional<std::string> ChatInput::next(const std::string& prompt) {
  for (;;) {
    bool interrupted = false;
    std::optional<std::string> entry = read_line(prompt, interrupted);
    if (typed_ && entry && !interrupted) {
      if (entry->starts_with(kQuotes)) {
        entry->erase(0, kQuotes.size());
        while (!entry->ends_with(kQuotes) && !interrupted) {
          const std::optional<std::string> line = read_line(kMore, interrupted);
          if (!line) return {};
          *entry += (entry->empty() ? "" : "\n") + *line;
        }
        if (!interrupted) entry->resize(entry->size() - kQuotes.size());
      } else {
        while (entry->ends_with('\\') && !interrupted) {
          const std::optional<std::string> line = read_line(kMore, interrupted);
          if (!line) return {};
          entry->back() = '\n';
          *entry += *line;
        }
      }
    }
    if (!interrupted) return entry;
    write_now("\n(Ctrl-D ends)\n");
  }
}

}  // namespace attend::cli
