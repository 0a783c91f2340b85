#include "serve/http_reply.h"

#include "base/error.h"
#include "base/log.h"
#include "serve/client_socket.h"

namespace attend::serve {
namespace {

using Request = httplib::Request;
using Response = httplib::Response;
using std::chrono::milliseconds;

class Refusal : public Error {
 public:
  Refusal(int status, const std::string& message) : Error(message, ErrorKind::call), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

// Waits until there is something to send. Until then an error has a status of its own.
Pipe::Part wait_for_first(Pipe& pipe, const ClientSocket& client, const std::atomic<bool>& out_of_time) {
  Pipe::Part first = {{}, Pipe::State::open};
  while (first.text.empty() && first.state == Pipe::State::open && client.is_there() && !out_of_time)
    first = pipe.take(milliseconds(200));
  if (first.state == Pipe::State::ended || (first.state == Pipe::State::open && !first.text.empty()))
    return first;
  pipe.gone();  // the rest will not be read
  if (first.error) std::rethrow_exception(first.error);
  if (first.state == Pipe::State::broken || out_of_time) refuse(503, "the server is stopping");
  constexpr int kClientHasLeft = 499;  // as nginx has it; only the metrics show it
  refuse(kClientHasLeft, "the client has left");
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

void set_json(Response& response, int status, const Json& json) {
  response.status = status;
  response.set_content(written(json), "application/json");
}

void set_error(const Request& request, Response& response, const std::exception_ptr& error) {
  const auto [status, message] = status_of(error);
  if (status == 500) warn("{} {}: {}", request.method, request.path, message);
  if (status == 429 || status == 503) response.set_header("Retry-After", "1");
  set_json(response, status, error_json(status, message));
}

void send_as_it_comes(const Request& request, Response& response, const Reply& reply,
                      std::shared_ptr<void> open, const std::atomic<bool>& out_of_time) {
  const std::shared_ptr<Pipe> pipe = reply.more;
  Pipe::Part first =
      wait_for_first(*pipe, ClientSocket(request.remote_addr, request.remote_port), out_of_time);
  if (first.state == Pipe::State::ended) return response.set_content(first.text, reply.type);
  const auto send = [pipe, first = std::move(first.text), &out_of_time](std::size_t,
                                                                        httplib::DataSink& sink) mutable {
    const Pipe::Part part = first.empty() ? pipe->take(milliseconds(200))
                                          : Pipe::Part{std::exchange(first, {}), Pipe::State::open};
    if (part.state == Pipe::State::broken || out_of_time || !sink.is_writable()) return false;
    if (!part.text.empty() && !sink.write(part.text.data(), part.text.size())) return false;
    if (part.state == Pipe::State::ended) sink.done();
    return true;
  };
  response.set_chunked_content_provider(reply.type, send, [pipe, open = std::move(open)](bool complete) {
    if (!complete) pipe->gone();
  });
}

}  // namespace attend::serve
