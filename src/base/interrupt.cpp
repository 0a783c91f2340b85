#include "base/interrupt.h"

#include <atomic>

namespace attend {
namespace {

std::atomic<bool> asked_to_stop = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may touch only lock-free atomics

void on_signal(int signal) {
  if (!asked_to_stop.exchange(true)) return;
  // The second time: die of the signal itself, so that the calling shell sees the cause.
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void catch_interrupts(std::initializer_list<int> signals) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // system calls of other code are restarted
  sigemptyset(&action.sa_mask);
  for (const int signal : signals) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    // A shell starts background jobs with Ctrl-C ignored; keep that.
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

bool interrupted() {
  return asked_to_stop.load(std::memory_order_relaxed);
}

bool take_interrupt() {
  return asked_to_stop.exchange(false);
}

}  // namespace attend
