// A reply as it is sent over a connection.
#pragma once

#include "serve/http/request_reader.h"
#include "serve/http/server.h"

#include <vector>

namespace attend::serve {

struct HttpReply {
  int status = 200;
  Reply content = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  Json facts = Json::object();  // for the log
};

HttpReply error_reply(int status, const std::string& message);
// The server's own errors are also logged.
HttpReply error_reply(const RequestHead& request, const std::exception_ptr& error);

// The bytes before the content. `length`: of the content; absent: it is sent in chunks, or ends with the
// connection.
std::string head_of(const HttpReply& reply, std::optional<std::size_t> length, bool in_chunks,
                    bool keeps_alive);
std::string chunk_of(const std::string& text);
constexpr const char* kLastChunk = "0\r\n\r\n";

}  // namespace attend::serve
