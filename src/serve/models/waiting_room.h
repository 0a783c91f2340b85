// Room among the requests that wait for a model, reserved while a request is read.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

namespace attend::serve {

class WaitingRoom {
 public:
  struct Amount {
    std::size_t prompts = 0, tokens = 0;
  };

  // Reserves room for `wanted` until the result is destroyed; by then the queue counts the request itself.
  // `waiting`: the queue's current count. Rejects (429) if the total would exceed `limit`, unless nothing
  // else waits.
  std::shared_ptr<const void> take(const Amount& wanted, const std::function<Amount()>& waiting,
                                   const Amount& limit);

 private:
  std::mutex mutex_;
  Amount reserved_;
};

}  // namespace attend::serve
