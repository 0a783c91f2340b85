#include "base/interrupt.h"

#include <atomic>

namespace attend {
namespace {

std::atomic<bool> asked_to_stop = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // what a signal handler may touch

void on_signal(int signal) {
  if (!asked_to_stop.exchange(true)) return;
  // The second time: die of the signal itself, so that a calling shell sees why.
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void catch_interrupts(std::initializer_list<int> signals) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // other people's system calls need not know of us
  sigemptyset(&action.sa_mask);
  for (const int signal : signals) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    // A background job of a shell starts with Ctrl-C ignored: it must stay so.
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
