// Finds the handler of a request, checks its key, and makes its reply. It does not use connections.
#pragma once

#include "serve/http/http_reply.h"

#include <map>
#include <mutex>

namespace attend::serve {

class Router {
 public:
  explicit Router(const ServerOptions& options) : options_(options) {}

  void add(const Endpoint& endpoint, Server::Handler handler);
  const std::vector<Endpoint>& endpoints() const { return endpoints_; }

  // A reply that is possible before the body is read; absent: the request may continue.
  std::optional<HttpReply> early_reply(const RequestHead& request, bool stopping) const;
  // Whether the request is answered immediately, independent of other work.
  bool is_quick(const RequestHead& request) const;
  // From any thread.
  HttpReply answer(const RequestHead& request, const std::string& body) const;

  // Counts a sent reply, or a client that has disconnected.
  void count(const RequestHead& request, int status);
  std::string metrics() const;  // requests by path and status, in Prometheus's format

 private:
  std::size_t find(const std::string& path) const;  // the number of endpoints if there is none
  void check(const RequestHead& request, bool stopping) const;
  void check_path(const RequestHead& request) const;
  bool has_key(const RequestHead& request) const;
  void allow_origin(const RequestHead& request, HttpReply& reply) const;

  const ServerOptions& options_;
  std::vector<Endpoint> endpoints_;
  std::vector<Server::Handler> handlers_;
  mutable std::mutex counting_;
  std::map<std::pair<std::string, int>, std::size_t> counts_;  // by path and status
};

}  // namespace attend::serve
