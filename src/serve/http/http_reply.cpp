#include "serve/http/http_reply.h"

#include <attend/queue_status.h>

#include "base/error.h"
#include "base/log.h"

namespace attend::serve {
namespace {

class Refusal : public Error {
 public:
  Refusal(int status, const std::string& message) : Error(message, ErrorKind::call), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

const char* phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
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
  } catch (const WaitedTooLong& error) {
    return {503, error.what()};
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

HttpReply error_reply(int status, const std::string& message) {
  HttpReply reply{status, serve::reply(error_json(status, message))};
  if (status == 429 || status == 503) reply.headers.emplace_back("Retry-After", "1");
  if (status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

HttpReply error_reply(const RequestHead& request, const std::exception_ptr& error) {
  const auto [status, message] = status_of(error);
  if (status == 500) warn("{} {}: {}", request.method, request.path, message);
  return error_reply(status, message);
}

std::string head_of(const HttpReply& reply, std::optional<std::size_t> length, bool in_chunks,
                    bool keeps_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, phrase(reply.status));
  if (reply.status != 204) head += fmt::format("Content-Type: {}\r\n", reply.content.type);
  if (length && reply.status != 204) head += fmt::format("Content-Length: {}\r\n", *length);
  if (in_chunks) head += "Transfer-Encoding: chunked\r\n";
  for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
  return head + fmt::format("Connection: {}\r\n\r\n", keeps_alive ? "keep-alive" : "close");
}

std::string chunk_of(const std::string& text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

}  // namespace attend::serve
