// Text that one thread writes and another one sends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace attend::serve {

class Pipe {
 public:
  // For the writer. Nothing may follow end(), fail() and cut_off().
  void put(const std::string& more) { add(more, State::open); }
  void end(const std::string& last = {}) { add(last, State::ended); }
  void fail(std::exception_ptr error) {  // before any text: the reply is the error
    error_ = std::move(error);
    add({}, State::broken);
  }
  void cut_off() { add({}, State::broken); }  // the text is incomplete

  // Called at most once, when the reader has disconnected; set it before the text is sent.
  void on_disconnect(std::function<void()> tell) { tell_ = std::move(tell); }

  // For the sender. From now on the writer's thread calls `tell` whenever there is more.
  void on_more(std::function<void()> tell) {
    const std::lock_guard lock(mutex_);
    more_ = std::move(tell);
  }
  enum class State { open, ended, broken };
  struct Part {
    std::string text;
    State state;
    std::exception_ptr error = {};  // of fail()
  };
  // Waits for more, but no longer than `patience`.
  Part take(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] { return !text_.empty() || state_ != State::open; });
    return {std::exchange(text_, {}), state_, error_};
  }
  void gone() {
    if (const auto tell = std::exchange(tell_, {})) tell();
  }

 private:
  void add(const std::string& more, State state) {
    {
      const std::lock_guard lock(mutex_);
      text_ += more;
      state_ = state;
      if (more_) more_();
    }
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  State state_ = State::open;
  std::exception_ptr error_;
  std::function<void()> tell_, more_;
};

}  // namespace attend::serve
