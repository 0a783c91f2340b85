// Bytes of a connection as requests: what HTTP/1.1 allows, and nothing that two readers could understand in
// two ways. Sockets are others' matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace attend::serve {

struct RequestHead {
  std::string method, path;  // the path without its query, %XX decoded
  bool is_1_1 = true, keeps_alive = true;
  bool expects_continue = false;  // the client waits for a word before it sends the body
  bool has_body = false;
  std::optional<std::uint64_t> length = {};  // of the body; absent: it comes in chunks, or there is none
  // Empty where the request does not have them.
  std::string authorization, content_type, content_encoding, request_id, origin;
};

// Reads one request after another.
class RequestReader {
 public:
  RequestReader(std::size_t max_header, std::size_t max_body);
  ~RequestReader();

  // Takes as much of the bytes as belongs to the present request and can be understood by now, and says how
  // much. A head is taken as a whole. Refuses, with a status, what is no request; the connection is of no use
  // then.
  std::size_t put(std::string_view bytes);
  bool has_head() const;
  bool is_done() const;  // the body is there as well
  const RequestHead& head() const;
  std::string take_body();
  std::size_t body_size() const;  // of what has come
  // From now on the body is read and thrown away.
  void discard();
  void next();  // the next request begins

 private:
  class Parser;
  std::size_t max_header_, max_body_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace attend::serve
