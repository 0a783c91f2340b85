#include "serve/server.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "serve/client_socket.h"

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include <httplib.h>

namespace attend::serve {
namespace {

using Request = httplib::Request;
using Response = httplib::Response;
using std::chrono::milliseconds;

constexpr int kBacklog = 1024;  // the kernel has a limit of its own, net.core.somaxconn

class Refusal : public Error {
 public:
  Refusal(int status, const std::string& message) : Error(message, ErrorKind::call), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

void set_json(Response& response, int status, const Json& json) {
  response.status = status;
  response.set_content(written(json), "application/json");
}

// An error as a reply. What is the server's own fault is also said in the log.
void set_error(const Request& request, Response& response, const std::exception_ptr& error) {
  const auto [status, message] = status_of(error);
  if (status >= 500 && status != 503) warn("{} {}: {}", request.method, request.path, message);
  if (status == 429 || status == 503) response.set_header("Retry-After", "1");
  set_json(response, status, error_json(status, message));
}

// Waits until there is something to send. Until then an error has a status of its own.
Pipe::Part wait_for_first(Pipe& pipe, const ClientSocket& client) {
  Pipe::Part first = {{}, Pipe::State::open};
  while (first.text.empty() && first.state == Pipe::State::open && client.is_there())
    first = pipe.take(milliseconds(200));
  if (first.state == Pipe::State::ended || (first.state == Pipe::State::open && !first.text.empty()))
    return first;
  pipe.gone();  // the rest will not be read
  if (first.error) std::rethrow_exception(first.error);
  if (first.state == Pipe::State::broken) refuse(503, "the server is stopping");
  constexpr int kClientHasLeft = 499;  // as nginx has it; only the metrics show it
  refuse(kClientHasLeft, "the client has left");
}

// Sends what comes through the pipe, until its end or until the client has left. `open` is held until then.
void send_as_it_comes(const Request& request, Response& response, const Reply& reply,
                      std::shared_ptr<void> open) {
  const std::shared_ptr<Pipe> pipe = reply.more;
  Pipe::Part first = wait_for_first(*pipe, ClientSocket(request.remote_addr, request.remote_port));
  if (first.state == Pipe::State::ended) return response.set_content(first.text, reply.type);
  const auto send = [pipe, first = std::move(first.text)](std::size_t, httplib::DataSink& sink) mutable {
    const Pipe::Part part = first.empty() ? pipe->take(milliseconds(200))
                                          : Pipe::Part{std::exchange(first, {}), Pipe::State::open};
    if (part.state == Pipe::State::broken || !sink.is_writable()) return false;
    if (!part.text.empty() && !sink.write(part.text.data(), part.text.size())) return false;
    if (part.state == Pipe::State::ended) sink.done();
    return true;
  };
  response.set_chunked_content_provider(reply.type, send, [pipe, open = std::move(open)](bool complete) {
    if (!complete) pipe->gone();
  });
}

// Takes as long whatever part of it is right.
bool same(const std::string& a, const std::string& b) {
  unsigned different = a.size() != b.size();
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^
                 static_cast<unsigned char>(b[i % std::max<std::size_t>(1, b.size())]);
  return different == 0;
}

}  // namespace

void refuse(int status, const std::string& message) {
  throw Refusal(status, message);
}

std::pair<int, std::string> status_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const Refusal& refusal) {
    return {refusal.status(), refusal.what()};
  } catch (const Error& known) {
    const bool of_the_request = known.kind() == ErrorKind::input || known.kind() == ErrorKind::call;
    return {of_the_request ? 400 : 500, known.what()};
  } catch (const std::bad_alloc&) {
    return {500, "out of memory"};
  } catch (const std::exception& other) {
    return {500, other.what()};
  } catch (...) {
  }
  return {500, "something other than an error was thrown"};
}

Json error_json(int status, const std::string& message) {
  const char* type = status >= 500   ? "server_error"
                     : status == 401 ? "authentication_error"
                     : status == 429 ? "rate_limit_error"
                                     : "invalid_request_error";
  return {{"error", {{"message", message}, {"type", type}, {"param", nullptr}, {"code", status}}}};
}

struct Server::State {
  const ServerOptions options;
  int port = 0;
  httplib::Server http;
  socket_t listening = INVALID_SOCKET;
  std::set<std::string> paths;

  std::atomic<bool> stopping = false;                          // new requests are refused
  const std::shared_ptr<void> open = std::make_shared<int>();  // held by every reply that is not complete

  mutable std::mutex counting;
  std::map<std::pair<std::string, int>, std::size_t> counts;  // by path and status

  explicit State(const ServerOptions& given) : options(given) {
    // Its own threads of a connection each, and no limit to how long a reply takes.
    http.new_task_queue = [this] { return new httplib::ThreadPool(options.connections); };
    http.set_tcp_nodelay(true);
    // Not as the library has it, which lets several programs share a port.
    http.set_socket_options([this](socket_t socket) {
      listening = socket;
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    http.set_pre_routing_handler([this](const Request& request, Response& response) {
      return may_ask(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                        : httplib::Server::HandlerResponse::Handled;
    });
    http.set_error_handler([this](const Request& request, Response& response) {
      if (!response.body.empty()) return;
      if (response.status == 404 && paths.contains(request.path)) response.status = 405;
      set_json(response, response.status, error_json(response.status, default_message(request, response)));
    });
    http.set_logger([this](const Request& request, const Response& response) {
      const std::lock_guard lock(counting);
      ++counts[{paths.contains(request.path) ? request.path : "other", response.status}];
    });
    port = options.port == 0                               ? http.bind_to_any_port(options.host)
           : http.bind_to_port(options.host, options.port) ? options.port
                                                           : -1;
    if (port <= 0)
      fail_system(
          "cannot listen on {}, port {}: another program has the port, or the address is not this machine's",
          options.host, options.port);
    // Connections that are not accepted yet. The library keeps 5, and the others' clients try again in a
    // second.
    if (::listen(listening, kBacklog) != 0) fail_system("cannot listen on {}, port {}", options.host, port);
  }

  std::string default_message(const Request& request, const Response& response) const {
    if (response.status == 405) return fmt::format("{} is not for {}", request.path, request.method);
    if (response.status == 404) {
      std::string all;
      for (const std::string& path : paths) all += (all.empty() ? "" : ", ") + path;
      return fmt::format("there is no {}; there are {}", request.path, all);
    }
    return fmt::format("this is no request that HTTP/1.1 has, or it is too long (status {})",
                       response.status);
  }

  // Whatever is refused here is refused before its body has been read.
  bool may_ask(const Request& request, Response& response) const {
    try {
      if (stopping) refuse(503, "the server is stopping");
      if (!options.key.empty() && request.path != "/health" &&
          !same(request.get_header_value("Authorization"), "Bearer " + options.key))
        refuse(401, "expected the header Authorization: Bearer KEY, with the key of this server");
      // A few packed bytes can be any number of others.
      if (request.has_header("Content-Encoding"))
        refuse(415, "expected a body that is not compressed, found Content-Encoding: " +
                        request.get_header_value("Content-Encoding"));
      return true;
    } catch (...) {
      set_error(request, response, std::current_exception());
      return false;
    }
  }

  // What is too long is read to its end and forgotten, or it would look like the next request.
  std::string read_body(const httplib::ContentReader& read) const {
    std::string body;
    std::size_t size = 0;
    read([&](const char* data, std::size_t count) {
      size += count;
      if (size <= options.largest_body)
        body.append(data, count);
      else
        body.clear();
      return true;
    });
    if (size > options.largest_body)
      refuse(413, fmt::format("expected a body of at most {} bytes, found {}", options.largest_body, size));
    return body;
  }

  template <class Handle>
  void handle(const Request& request, Response& response, const Handle& handle) const {
    const std::shared_ptr<void> held = open;
    try {
      const Reply reply = handle();
      if (reply.more)
        send_as_it_comes(request, response, reply, held);
      else
        response.set_content(reply.text, reply.type);
    } catch (...) {
      set_error(request, response, std::current_exception());
    }
  }
};

Server::Server(const ServerOptions& options) : state_(std::make_unique<State>(options)) {}
Server::~Server() = default;

void Server::get(const std::string& path, std::function<Reply()> handler) {
  state_->paths.insert(path);
  state_->http.Get(path, [this, handler = std::move(handler)](const Request& request, Response& response) {
    state_->handle(request, response, handler);
  });
}

void Server::post(const std::string& path, std::function<Reply(const Fields& body)> handler) {
  state_->paths.insert(path);
  state_->http.Post(path, [this, handler = std::move(handler)](const Request& request, Response& response,
                                                               const httplib::ContentReader& read) {
    state_->handle(request, response, [&] {
      const ErrorScope scope(ErrorKind::input);
      return handler(Fields(parse_json(state_->read_body(read), "the request"), "the request"));
    });
  });
}

std::string Server::address() const {
  const bool six = state_->options.host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}", six ? "[" : "", state_->options.host, six ? "]" : "", state_->port);
}

void Server::run() {
  // A server that listens no more breaks off what it sends. So first nobody new is let in, and then it ends.
  const std::jthread watch([this](const std::stop_token& over) {
    for (; !over.stop_requested(); std::this_thread::sleep_for(milliseconds(50))) {
      if (state_->stopping && state_->open.use_count() == 1) state_->http.stop();
      state_->stopping = state_->stopping || interrupted();
    }
  });
  if (!state_->http.listen_after_bind() && !interrupted())
    fail_system("listening has ended: no more sockets");
}

std::string Server::metrics() const {
  std::string text =
      "# HELP attend_requests_total Requests that were answered.\n# TYPE attend_requests_total counter\n";
  const std::lock_guard lock(state_->counting);
  for (const auto& [what, count] : state_->counts)
    text += fmt::format("attend_requests_total{{path=\"{}\",status=\"{}\"}} {}\n", what.first, what.second,
                        count);
  return text;
}

}  // namespace attend::serve
