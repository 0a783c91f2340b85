#include "serve/server.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "serve/http_reply.h"
#include "serve/listener.h"
#include "serve/metrics.h"
#include "serve/request_log.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

namespace attend::serve {
namespace {

using Request = httplib::Request;
using Response = httplib::Response;
using std::chrono::milliseconds;

// Takes as long whatever part of it is right.
bool is_same(const std::string& a, const std::string& b) {
  unsigned different = a.size() != b.size();
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^
                 static_cast<unsigned char>(b[i % std::max<std::size_t>(1, b.size())]);
  return different == 0;
}

// The library knows some methods and refuses the others as if they were nonsense, before it has read the
// path.
bool is_unknown_method(const Request& request) {
  constexpr std::string_view kKnown[] = {"GET",     "HEAD",    "POST",  "PUT",   "DELETE",
                                         "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"};
  return request.path.empty() && request.target.starts_with('/') && request.version.starts_with("HTTP/1.") &&
         std::ranges::all_of(request.method, [](char c) { return c >= 'A' && c <= 'Z'; }) &&
         std::ranges::find(kKnown, request.method) == std::end(kKnown);
}

// "/v1/models/{model}" as a regular expression, and the names of its parts.
std::pair<std::string, std::vector<std::string>> pattern_of(const std::string& path) {
  std::string pattern;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '{') {
      pattern += path[i];
      continue;
    }
    const std::size_t end = path.find('}', i);
    names.push_back(path.substr(i + 1, end - i - 1));
    pattern += "(.+)";
    i = end;
  }
  return {pattern, names};
}

// "q=A+dog&alternatives=2" as an object. All that forms have is text.
Json form_as_json(const std::string& body, const Endpoint& endpoint) {
  httplib::Params params;
  httplib::detail::parse_query_text(body, params);
  Json form = Json::object();
  for (const auto& [name, value] : params) {
    const auto field = std::ranges::find(endpoint.fields, name, &RequestField::name);
    const Json number = Json::parse(value, nullptr, /*allow_exceptions=*/false);
    const bool is_number = field != endpoint.fields.end() && field->schema.value("type", "") == "integer" &&
                           number.is_number_integer();
    form[name] = is_number ? number : Json(value);
  }
  return form;
}

}  // namespace

struct Server::State {
  const ServerOptions options;
  Listener listener;
  std::vector<Endpoint> endpoints;

  std::atomic<bool> stopping = false;                          // new requests are refused
  std::atomic<bool> out_of_time = false;                       // what has been asked is broken off
  const std::shared_ptr<void> open = std::make_shared<int>();  // held by every reply that is not complete

  mutable std::mutex counting;
  std::map<std::pair<std::string, int>, std::size_t> counts;  // by path and status

  explicit State(const ServerOptions& given) : options(given), listener(serve::listen(given)) {
    httplib::Server& http = *listener.http;
    // Its own threads of a connection each, and no limit to how long a reply takes.
    http.new_task_queue = [this] { return new httplib::ThreadPool(options.connections); };
    const auto idle = std::chrono::microseconds(static_cast<std::int64_t>(options.idle_seconds * 1e6));
    http.set_read_timeout(idle);
    http.set_write_timeout(idle);
    http.set_keep_alive_timeout(std::max<time_t>(1, static_cast<time_t>(options.idle_seconds)));
    http.set_pre_routing_handler([this](const Request& request, Response& response) {
      begin_request(request, response);
      return may_ask(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                        : httplib::Server::HandlerResponse::Handled;
    });
    http.set_error_handler([this](const Request& request, Response& response) {
      if (response.body.empty()) set_default_error(request, response);
    });
    http.set_logger(
        [this](const Request& request, const Response& response) { end_request(request, response); });
  }

  const Endpoint* find(const std::string& path) const {
    const auto found = std::ranges::find_if(endpoints, [&](const Endpoint& each) {
      const std::size_t variable = each.path.find('{');
      return variable == each.path.npos
                 ? each.path == path
                 : path.size() > variable && path.starts_with(each.path.substr(0, variable));
    });
    return found == endpoints.end() ? nullptr : &*found;
  }

  static void begin_request(const Request& request, Response& response) {
    PresentRequest& present = present_request();
    present = {request_id(request.get_header_value("X-Request-Id")), std::chrono::steady_clock::now(),
               Json::object()};
    response.set_header("X-Request-Id", present.id);
  }

  void end_request(const Request& request, const Response& response) {
    const Endpoint* endpoint = find(request.path);
    {
      const std::lock_guard lock(counting);
      ++counts[{endpoint != nullptr ? endpoint->path : "other", response.status}];
    }
    PresentRequest& present = present_request();
    if (options.logs_requests) {
      const std::chrono::duration<double> seconds = present.id.empty()
                                                        ? std::chrono::duration<double>(0)
                                                        : std::chrono::steady_clock::now() - present.begin;
      Json line = {{"message", "request"},         {"request_id", present.id},  {"method", request.method},
                   {"path", request.path},         {"status", response.status}, {"seconds", seconds.count()},
                   {"client", request.remote_addr}};
      line.update(present.facts);
      write_log_line(response.status >= 500 ? "error" : "info", line);
    }
    present = {};
  }

  // What the library itself refuses.
  void set_default_error(const Request& request, Response& response) const {
    const Endpoint* endpoint = find(request.path);
    if (endpoint != nullptr && (response.status == 404 || response.status == 400)) {
      const bool gets = endpoint->method == Method::get;
      if (request.method != (gets ? "GET" : "POST")) {
        response.status = 405;
        response.set_header("Allow", gets ? "GET, HEAD" : "POST");
      }
    }
    if (response.status == 400 && is_unknown_method(request)) {
      response.status = 405;
      response.set_header("Allow", "GET, HEAD, POST");
    }
    set_json(response, response.status, error_json(response.status, default_message(request, response)));
  }

  std::string default_message(const Request& request, const Response& response) const {
    if (response.status == 405)
      return fmt::format("{} is not for {}", request.path.empty() ? "this server" : request.path,
                         request.method);
    if (response.status == 404) {
      std::string all;
      for (const Endpoint& endpoint : endpoints) all += (all.empty() ? "" : ", ") + endpoint.path;
      return fmt::format("there is no {}; there are {}", request.path, all);
    }
    return fmt::format("this is no request that HTTP/1.1 has, or it is too long (status {})",
                       response.status);
  }

  bool has_key(const Request& request) const {
    const std::string given = request.get_header_value("Authorization");
    bool found = options.keys.empty();
    for (const std::string& key : options.keys) found = is_same(given, "Bearer " + key) || found;
    return found;
  }

  // Whatever is refused here is refused before its body has been read.
  bool may_ask(const Request& request, Response& response) const {
    try {
      const Endpoint* endpoint = find(request.path);
      const bool is_open = endpoint != nullptr && endpoint->is_open;
      if (stopping && !is_open) refuse(503, "the server is stopping");
      if (!is_open && !has_key(request)) {
        response.set_header("WWW-Authenticate", "Bearer");
        refuse(401, "expected the header Authorization: Bearer KEY, with the key of this server");
      }
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

  Json read_json_body(const Request& request, const httplib::ContentReader& read,
                      const Endpoint& endpoint) const {
    const std::string body = read_body(read);
    const bool is_form =
        endpoint.is_form && !body.starts_with('{') &&
        request.get_header_value("Content-Type").starts_with("application/x-www-form-urlencoded");
    return is_form ? form_as_json(body, endpoint) : parse_json(body, "the request");
  }

  // `make` gives the request's fields.
  template <class Make>
  void handle(const Request& request, Response& response, const Endpoint& endpoint, const Handler& handler,
              const Make& make) const {
    const std::shared_ptr<void> held = open;
    try {
      Reply reply;
      {
        const ErrorScope scope(ErrorKind::input);
        const Fields fields(make(), "the request");
        check_request(fields, endpoint);
        reply = handler(fields);
      }
      if (reply.more)
        send_as_it_comes(request, response, reply, held, out_of_time);
      else
        response.set_content(reply.text, reply.type);
    } catch (...) {
      set_error(request, response, std::current_exception());
    }
  }
};

Server::Server(const ServerOptions& options) : state_(std::make_unique<State>(options)) {}
Server::~Server() = default;

void Server::add(const Endpoint& endpoint, Handler handler) {
  state_->endpoints.push_back(endpoint);
  const auto [pattern, names] = pattern_of(endpoint.path);
  if (endpoint.method == Method::get)
    state_->listener.http->Get(pattern, [this, endpoint, handler = std::move(handler), names = names](
                                            const Request& request, Response& response) {
      state_->handle(request, response, endpoint, handler, [&] {
        Json parts = Json::object();
        for (std::size_t i = 0; i < names.size(); ++i) parts[names[i]] = request.matches[i + 1].str();
        return parts;
      });
    });
  else
    state_->listener.http->Post(
        pattern, [this, endpoint, handler = std::move(handler)](const Request& request, Response& response,
                                                                const httplib::ContentReader& read) {
          state_->handle(request, response, endpoint, handler,
                         [&] { return state_->read_json_body(request, read, endpoint); });
        });
}

const std::vector<Endpoint>& Server::endpoints() const {
  return state_->endpoints;
}

std::string Server::address() const {
  const ServerOptions& options = state_->options;
  if (!options.socket.empty()) return "unix:" + options.socket;
  const bool six = options.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", options.certificate.empty() ? "http" : "https", six ? "[" : "",
                     options.host, six ? "]" : "", state_->listener.port);
}

bool Server::has_keys() const {
  return !state_->options.keys.empty();
}

bool Server::is_stopping() const {
  return state_->stopping;
}

void Server::run() {
  // A server that stops listening breaks off what it sends. So it first refuses new requests, and then ends.
  const std::jthread watch([this](const std::stop_token& over) {
    std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
    for (; !over.stop_requested(); std::this_thread::sleep_for(milliseconds(50))) {
      if (!state_->stopping && interrupted()) {
        state_->stopping = true;
        end = std::chrono::steady_clock::now() +
              milliseconds(static_cast<std::int64_t>(state_->options.drain_seconds * 1000));
      }
      if (!state_->stopping) continue;
      if (std::chrono::steady_clock::now() >= end && !state_->out_of_time.exchange(true))
        warn("what was asked is not answered after {} seconds, and is broken off",
             state_->options.drain_seconds);
      if (state_->open.use_count() == 1 || state_->out_of_time) state_->listener.http->stop();
    }
  });
  if (!state_->listener.http->listen_after_bind() && !interrupted())
    fail_system("listening has ended: no more sockets");
}

std::string Server::metrics() const {
  std::string lines;
  {
    const std::lock_guard lock(state_->counting);
    for (const auto& [what, count] : state_->counts)
      lines += fmt::format("attend_requests_total{} {}\n",
                           in_braces({{"path", what.first}, {"status", std::to_string(what.second)}}), count);
  }
  MetricPage page;
  page.add("attend_requests_total", "counter", "Requests that were answered.", lines);
  return page.text();
}

}  // namespace attend::serve
