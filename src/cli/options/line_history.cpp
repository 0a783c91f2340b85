#include "cli/options/line_history.h"

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attend::cli {
namespace {

constexpr std::ptrdiff_t kMaxLines = 1000;

std::filesystem::path state_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return state;  // the standard ignores relative paths
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::filesystem::path(home) / ".local/state"
                                         : std::filesystem::path();
}

void make_private_folders(const std::filesystem::path& folder) {
  if (folder.empty() || file_exists(folder)) return;
  make_private_folders(folder.parent_path());
  mkdir(folder.c_str(), S_IRWXU);
}

}  // namespace

LineHistory::LineHistory() {
  const std::filesystem::path folder = state_folder();
  if (folder.empty()) return;
  make_private_folders(folder / "attend");
  path_ = folder / "attend" / "history";
  if (!file_exists(path_)) return;
  try {
    lines_ = read_lines(path_);
    if (std::ssize(lines_) <= kMaxLines) return;
    const bool is_long = std::ssize(lines_) > 2 * kMaxLines;
    lines_.erase(lines_.begin(), lines_.end() - kMaxLines);
    if (!is_long) return;
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    const mode_t mask = umask(S_IRWXG | S_IRWXO);
    write_file_atomically(path_, text);
    umask(mask);
  } catch (const Error& error) {
    warn("the history of questions is not read: {}", error.what());
    path_.clear();
  }
}

void LineHistory::add(const std::string& line) const {
  if (path_.empty()) return;
  const int file = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return;
  const std::string text = line + "\n";  // in one call, because two conversations may write
  if (fchmod(file, S_IRUSR | S_IWUSR) != 0 || write(file, text.data(), text.size()) < 0)
    inform("the history of questions is not kept: {} cannot be written", path_.string());
  close(file);
}

}  // namespace attend::cli
