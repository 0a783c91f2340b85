#include "base/progress.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace attend {
namespace {

using namespace std::chrono_literals;
constexpr auto silence = 2s;
constexpr auto terminal_interval = 100ms;
constexpr auto plain_interval = 10s;
constexpr std::size_t bar_width = 20;

std::atomic<bool> is_quiet = true;  // until log_to_standard_error()
std::mutex writing;                 // guards every Progress and the line on the terminal
bool line_on_terminal = false;

bool stderr_is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) && kind != nullptr && std::string_view(kind) != "dumb";
}

std::size_t terminal_width() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// At most `width` characters: a longer line would wrap and could not be rewritten.
std::string_view cut(std::string_view line, std::size_t width) {
  std::size_t at = 0;
  for (std::size_t characters = 0; at < line.size(); ++at)
    if ((line[at] & 0xC0) != 0x80 && ++characters > width) break;
  return line.substr(0, at);
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  const auto hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, rest)
                   : fmt::format("{}:{:02}", minutes, rest);
}

std::string bar(std::uint64_t done, std::uint64_t total) {
  const auto full =
      static_cast<std::size_t>(static_cast<double>(done) / static_cast<double>(total) * bar_width);
  return fmt::format("[{:<{}}] ", std::string(std::min(full, bar_width), '='), bar_width);
}

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void set_quiet(bool quiet) {
  is_quiet = quiet;
}

bool quiet() {
  return is_quiet;
}

void hide_progress() {
  const std::lock_guard lock(writing);
  if (line_on_terminal) std::fputs("\r\x1b[K", stderr);
  line_on_terminal = false;
}

std::string describe(const ProgressState& state) {
  std::string line = fmt::format("{}: {}", state.label, state.done);
  if (state.total > 0) line += fmt::format("/{}", state.total);
  line += fmt::format(" {}", state.unit);
  if (state.per_second > 0) {
    const int digits = state.per_second >= 100 ? 0 : state.per_second >= 1 ? 1 : 3;
    line += fmt::format(", {:.{}f} {}/s", state.per_second, digits, state.unit);
  }
  if (state.finished) {
    line += fmt::format(", took {}", duration(state.elapsed));
  } else if (state.per_second > 0 && state.done < state.total) {
    const double left = static_cast<double>(state.total - state.done) / state.per_second;
    constexpr double believable = 100.0 * 24 * 3600;
    if (left < believable) line += fmt::format(", {} left", duration(left));
  }
  if (!state.note.empty()) line += fmt::format(", {}", state.note);
  return line;
}

Progress::Progress(std::string label, std::uint64_t total, std::string unit)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      start_(Clock::now()),
      terminal_(stderr_is_terminal()) {}

Progress::~Progress() {
  const std::lock_guard lock(writing);
  if (visible_) show(Clock::now(), true);
}

void Progress::update(std::uint64_t done, std::string_view note) {
  if (is_quiet) return;
  const std::lock_guard lock(writing);
  const auto now = Clock::now();
  if (!updated_) first_ = done, first_time_ = now, updated_ = true;
  done_ = done;
  note_ = note;
  const Clock::duration interval =
      terminal_ ? Clock::duration(terminal_interval) : Clock::duration(plain_interval);
  if (visible_ ? now - shown_ >= interval : now - start_ >= silence) show(now, false);
}

void Progress::show(Clock::time_point now, bool finished) {
  ProgressState state = {label_, unit_, note_, done_, total_};
  const double time = seconds(now - first_time_);
  if (done_ > first_ && time > 0) state.per_second = static_cast<double>(done_ - first_) / time;
  state.elapsed = seconds(now - start_);
  state.finished = finished;
  std::string line = describe(state);
  if (terminal_) {
    if (total_ > 0 && !finished) line = bar(done_, total_) + line;
    line = fmt::format("\r{}\x1b[K{}", cut(line, terminal_width() - 1), finished ? "\n" : "");
    line_on_terminal = !finished;
  } else {
    line = fmt::format("attend: {}\n", line);
  }
  std::fputs(line.c_str(), stderr);  // a standard error that cannot be written must not stop the work
  shown_ = now;
  visible_ = true;
}

}  // namespace attend
