// Parses bytes of a connection into requests: it accepts what HTTP/1.1 allows, but nothing that two readers
// could understand differently. It does not use sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace attend::serve {

struct RequestHead {
  std::string method, path;  // the path without its query, with %XX decoded
  bool is_1_1 = true, keeps_alive = true;
  bool expects_continue = false;  // the client waits for a reply before it sends the body
  bool has_body = false;
  std::optional<std::uint64_t> length = {};  // of the body; absent: it is sent in chunks, or there is none
  // Empty if the request does not have them.
  std::string authorization, content_type, content_encoding, request_id, origin;
};

// Reads one request after another.
class RequestReader {
 public:
  RequestReader(std::size_t max_header, std::size_t max_body);
  ~RequestReader();

  // Consumes as many of the bytes as belong to the current request and can be parsed now, and returns their
  // number. A head is parsed as a whole. Rejects invalid requests with a status; the connection cannot be
  // used afterwards.
  std::size_t put(std::string_view bytes);
  bool has_head() const;
  bool is_done() const;  // including the body
  const RequestHead& head() const;
  std::string take_body();
  std::size_t body_size() const;  // of the part that has arrived
  // From now on the body is read and discarded.
  void discard();
  void next();  // starts the next request

 private:
  class Parser;
  std::size_t max_header_, max_body_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace attend::serve
