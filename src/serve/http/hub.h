// State that all connections of a server share. It belongs to the loop's thread.
#pragma once

#include "serve/http/router.h"

#include <atomic>
#include <unordered_set>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

namespace attend::serve {

class Connection;

// A limited amount that is reserved before any work, and always released.
class Room {
 public:
  explicit Room(std::size_t size) : free_(size) {}
  bool take(std::size_t amount) {
    if (amount > free_) return false;
    free_ -= amount;
    return true;
  }
  void give(std::size_t amount) { free_ += amount; }

 private:
  std::size_t free_;
};

struct Hub {
  const ServerOptions options;
  Router router{options};
  Room places{options.requests}, bytes{options.all_bodies};
  std::unordered_set<Connection*> connections = {};
  std::size_t open = 0;                // requests whose reply is not complete
  std::atomic<bool> stopping = false;  // new requests are rejected
  bool out_of_time = false;            // requests in flight are aborted

  // Last, so that it is destroyed first: the loop's callbacks hold connections.
  boost::asio::io_context loop{1};
  boost::asio::thread_pool workers{options.threads};

  explicit Hub(const ServerOptions& given) : options(given) {}
};

}  // namespace attend::serve
