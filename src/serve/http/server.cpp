#include "serve/http/server.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "serve/http/connection.h"
#include "serve/http/listener.h"

#include <atomic>
#include <cerrno>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

namespace attend::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMaxRefused = 64;  // connections beyond the limit that get an error reply at a time
constexpr auto kTick = milliseconds(50);
constexpr auto kAbortGrace = milliseconds(1000);  // to send the end of aborted requests

// A connection is a file, and a process may open only 1,024 of them by default.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

struct Server::State {
  Listener listener;
  Hub hub;
  boost::asio::posix::stream_descriptor listening{hub.loop};
  boost::asio::steady_timer tick{hub.loop}, pause{hub.loop};
  std::atomic<bool> stopped = false;                               // by stop()
  steady_clock::time_point end = steady_clock::time_point::max();  // then open requests are aborted

  explicit State(const ServerOptions& options) : listener(options), hub(options) {}
  ~State() { listening.release(); }  // the listener owns the descriptor

  void begin() {
    allow_many_files();
    listening.assign(listener.descriptor());
    wait_for_clients();
    watch();
  }

  void wait_for_clients() {
    listening.async_wait(listening.wait_read, [this](error_code error) {
      if (error) return;
      bool more = false;
      try {
        more = accept_clients();
      } catch (const std::exception& problem) {
        warn("a connection was not accepted: {}", problem.what());
      }
      if (more) return wait_for_clients();
      pause.expires_after(kTick);
      pause.async_wait([this](error_code stopped) {
        if (!stopped) wait_for_clients();
      });
    });
  }

  // False: no more for now.
  bool accept_clients() {
    while (hub.connections.size() < hub.options.connections + kMaxRefused) {
      const Listener::Client client = listener.accept();
      if (client.descriptor < 0)
        return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
      Socket socket(hub.loop, {client.family, 0}, client.descriptor);
      const auto connection =
          std::make_shared<Connection>(hub, make_wire(std::move(socket), listener.tls()), client.name);
      if (hub.connections.size() <= hub.options.connections)
        connection->start();
      else
        connection->refuse_all(error_reply(
            503, fmt::format("{} connections are open already: try again later", hub.options.connections)));
    }
    return false;
  }

  void watch() {
    const auto now = steady_clock::now();
    if (!hub.stopping && (interrupted() || stopped)) {
      hub.stopping = true;
      end = now + milliseconds(static_cast<std::int64_t>(hub.options.drain_seconds * 1000));
    }
    if (hub.stopping && now >= end && !hub.out_of_time) cut_off();
    if (hub.stopping && (hub.open == 0 || now >= end + kAbortGrace)) return hub.loop.stop();
    tick.expires_after(kTick);
    tick.async_wait([this](error_code error) {
      if (!error) watch();
    });
  }

  void cut_off() {
    warn("requests in flight were not finished after {} seconds: aborting them", hub.options.drain_seconds);
    hub.out_of_time = true;
    std::vector<std::shared_ptr<Connection>> all;  // they end while they are notified
    for (Connection* const each : hub.connections) all.push_back(each->shared_from_this());
    for (const auto& each : all) each->check_time();
  }

  // An error of one connection, such as bad_alloc, ends only that connection.
  void run() {
    while (!hub.loop.stopped()) {
      try {
        hub.loop.run();
      } catch (const std::exception& error) {
        warn("a connection has ended: {}", error.what());
      }
    }
    hub.workers.stop();
    hub.workers.join();
  }
};

Server::Server(const ServerOptions& options) : state_(std::make_unique<State>(options)) {}
Server::~Server() = default;

void Server::add(const Endpoint& endpoint, Handler handler) {
  state_->hub.router.add(endpoint, std::move(handler));
}

const std::vector<Endpoint>& Server::endpoints() const {
  return state_->hub.router.endpoints();
}

const ServerOptions& Server::options() const {
  return state_->hub.options;
}

std::string Server::address() const {
  const ServerOptions& options = state_->hub.options;
  if (!options.socket.empty()) return "unix:" + options.socket;
  const bool six = options.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", options.certificate.empty() ? "http" : "https", six ? "[" : "",
                     options.host, six ? "]" : "", state_->listener.port());
}

bool Server::has_keys() const {
  return !state_->hub.options.keys.empty();
}

void Server::stop() {
  state_->stopped = true;
}

bool Server::is_stopping() const {
  return state_->hub.stopping;
}

void Server::run() {
  state_->begin();
  state_->run();
}

std::string Server::metrics() const {
  return state_->hub.router.metrics();
}

}  // namespace attend::serve
