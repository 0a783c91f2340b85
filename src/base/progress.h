// Progress on standard error: one line rewritten in place on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace attend {

// Off for the whole process (--quiet).
void set_quiet(bool quiet);
bool quiet();

class Progress {
 public:
  // Says nothing in its first two seconds. `total` 0: unknown. `unit` is plural ("sentences").
  Progress(std::string label, std::uint64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` so far; `note` is shown behind the numbers ("loss 3.21").
  void update(std::uint64_t done, std::string_view note = {});

 private:
  using Clock = std::chrono::steady_clock;
  void show(Clock::time_point now, std::string_view note);

  std::string label_, unit_;
  std::uint64_t total_, done_ = 0;
  Clock::time_point start_, shown_;
  bool terminal_, visible_ = false;
};

}  // namespace attend
