// Progress on standard error: one line rewritten in place on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace attend {

// Off for the whole process (--quiet). This is the default until log_to_standard_error().
void set_quiet(bool quiet);
bool quiet();

// Removes the progress line from the terminal until its next update, so that other output can be written.
void hide_progress();

// The content of a progress line. `total` 0: unknown; `per_second` 0: not known yet.
struct ProgressState {
  std::string_view label, unit, note;
  std::uint64_t done = 0, total = 0;
  double per_second = 0;
  double elapsed = 0;  // seconds
  bool finished = false;
};
std::string describe(const ProgressState& state);

class Progress {
 public:
  // Says nothing in its first two seconds. `total` 0: unknown. `unit` is plural ("sentences").
  Progress(std::string label, std::uint64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sets the progress; `note` is shown after the numbers ("loss 3.21"). Thread-safe.
  void update(std::uint64_t done, std::string_view note = {});

 private:
  using Clock = std::chrono::steady_clock;
  void show(Clock::time_point now, bool finished);

  std::string label_, unit_, note_;
  std::uint64_t total_, done_ = 0;
  std::uint64_t first_ = 0;  // `done` of the first update: work that is resumed does not begin at 0
  Clock::time_point start_, first_time_, shown_;
  bool terminal_, updated_ = false, visible_ = false;
};

}  // namespace attend
