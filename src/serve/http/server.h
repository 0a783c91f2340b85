// An HTTP server for JSON: paths, keys, and errors as replies. It does not depend on the handlers of the
// paths.
#pragma once

#include "formats/json/json_floats.h"
#include "serve/http/endpoint.h"
#include "serve/http/pipe.h"

#include <functional>
#include <memory>
#include <string>

namespace attend::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                       // 0: any free port
  std::string socket;                    // a file, instead of host and port: a Unix socket
  std::string certificate, private_key;  // PEM files; with them it uses TLS
  std::vector<std::string>
      keys;  // every request needs one of them, except to open endpoints; empty: no key needed
  std::vector<std::string> origins;  // of pages that may send requests from a browser; "*": all
  std::size_t connections = 10000;   // at a time; more get an error that asks to retry
  std::size_t requests = 1024;       // running or waiting; more get an error that asks to retry
  std::size_t inputs = 2048;         // texts of a request
  std::size_t threads = 16;          // on which handlers work
  std::size_t largest_header = std::size_t{32} << 10, largest_body = std::size_t{64} << 20;  // bytes
  std::size_t all_bodies = std::size_t{1} << 30;  // bytes of all requests together
  double drain_seconds = 30;                      // after an interrupt, for requests in flight
  double idle_seconds = 60;                       // how long a connection may be without a request
  double header_seconds = 10;                     // for the head of a request, and a TLS handshake
  double body_seconds = 300;                      // for its body
  double write_seconds = 30;                      // for the client to read the next 64 KB of a reply
  bool logs_requests = false;                     // writes a JSON object for each to standard error
};

struct Reply {
  std::string text;
  std::string type = "application/json";
  // Instead of the text: it is streamed. The status is sent with the first part; an error before that
  // (Pipe::fail) is a separate reply.
  std::shared_ptr<Pipe> more = {};
};
inline std::string written(const Json& json) {
  return shortest_line(json);
}
inline Reply reply(const Json& json) {
  return {written(json)};
}

// Throws an error that becomes a reply with this HTTP status. Errors of other kinds become 400 if they are
// about the request (ErrorKind::input and call), else 500.
[[noreturn]] void refuse(int status, const std::string& message);
// The status of an error's reply, and its message.
std::pair<int, std::string> status_of(const std::exception_ptr& error);
// As in OpenAI's API: {"error": {"message", "type", ...}}.
Json error_json(int status, const std::string& message);

class Server {
 public:
  using Handler = std::function<Reply(const Fields& request)>;

  // Binds the port. An Error if it is not available.
  explicit Server(const ServerOptions& options);
  ~Server();

  // Before run(). Handlers are called from several threads at a time, those of quick endpoints from the
  // loop's thread. They get requests that match the endpoint: the object of a body, or the parts of a path.
  void add(const Endpoint& endpoint, Handler handler);
  const std::vector<Endpoint>& endpoints() const;

  const ServerOptions& options() const;
  std::string address() const;  // "http://127.0.0.1:8080"
  bool has_keys() const;
  // After an interrupt: new requests are rejected.
  bool is_stopping() const;
  // As an interrupt does, from any thread.
  void stop();
  // Runs until an interrupt or stop(); requests in flight are still answered, for a limited time.
  void run();
  // Requests by path and status, in Prometheus's format.
  std::string metrics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attend::serve
