// What all connections of a server share. Its numbers belong to the thread of the loop.
#pragma once

#include "serve/router.h"

#include <atomic>
#include <unordered_set>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

namespace attend::serve {

class Connection;

// Room that is taken before any work, and given back whatever happens.
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
  std::atomic<bool> stopping = false;  // new requests are refused
  bool out_of_time = false;            // what has been asked is broken off

  // Last, so that it ends first: connections are held by what the loop has to call.
  boost::asio::io_context loop{1};
  boost::asio::thread_pool workers{options.threads};

  explicit Hub(const ServerOptions& given) : options(given) {}
};

}  // namespace attend::serve
