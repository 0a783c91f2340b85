#include "serve/http/request_reader.h"

#include "serve/http/server.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>
#include <fmt/format.h>

namespace attend::serve {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using Text = boost::beast::string_view;

std::string as_string(Text text) {
  return {text.data(), text.size()};
}

bool is_same_word(Text a, std::string_view b) {
  return std::ranges::equal(a, b,
                            [](char x, char y) { return std::tolower(static_cast<unsigned char>(x)) == y; });
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The path of "http://host/a%20b?c" is "/a b".
std::string path_of(std::string_view target) {
  if (!target.starts_with('/')) {
    const std::size_t scheme = target.find("://");
    const std::size_t path = scheme == target.npos ? target.npos : target.find('/', scheme + 3);
    target = path == target.npos ? target.substr(target.size()) : target.substr(path);
  }
  target = target.substr(0, target.find_first_of("?#"));
  std::string path;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const bool is_escape =
        target[i] == '%' && i + 2 < target.size() && digit(target[i + 1]) >= 0 && digit(target[i + 2]) >= 0;
    path += is_escape ? static_cast<char>(digit(target[i + 1]) * 16 + digit(target[i + 2])) : target[i];
    if (is_escape) i += 2;
  }
  return path;
}

[[noreturn]] void refuse_bytes(const error_code& error, std::size_t max_header) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    refuse(431, fmt::format("expected a header of at most {} bytes", max_header));
  if (error == http::error::bad_version) refuse(505, "expected HTTP/1.1 or HTTP/1.0");
  if (error == http::error::bad_content_length)
    refuse(400, "expected one Content-Length, a number, without Transfer-Encoding");
  if (error == http::error::bad_transfer_encoding)
    refuse(400, "expected Transfer-Encoding: chunked, without Content-Length");
  refuse(400, "expected a request of HTTP/1.1: " + error.message());
}

}  // namespace

class RequestReader::Parser : public http::basic_parser<true> {
 public:
  RequestHead head;
  std::string body;
  std::size_t head_size = 0, size = 0, max_body = 0;
  bool discards = false, skipped_line = false;

 private:
  void on_request_impl(http::verb, Text method, Text target, int version, error_code&) override {
    head.method = as_string(method);
    head.path = path_of({target.data(), target.size()});
    head.is_1_1 = version == 11;
  }
  void on_response_impl(int, Text, int, error_code&) override {}
  void on_field_impl(http::field name, Text spelled, Text value, error_code& error) override {
    if (done_) return;  // trailers are ignored
    switch (name) {
      case http::field::host:
        ++hosts_;
        break;
      case http::field::transfer_encoding:
        // Rejects encodings that another reader might decode or ignore.
        if (++encodings_ > 1 || !is_same_word(value, "chunked") || !head.is_1_1)
          error = http::error::bad_transfer_encoding;
        break;
      case http::field::expect:
        head.expects_continue = is_same_word(value, "100-continue");
        break;
      case http::field::authorization:
        head.authorization = as_string(value);
        break;
      case http::field::content_type:
        head.content_type = as_string(value);
        break;
      case http::field::content_encoding:
        head.content_encoding = as_string(value);
        break;
      case http::field::origin:
        head.origin = as_string(value);
        break;
      case http::field::unknown:
        if (is_same_word(spelled, "x-request-id")) head.request_id = as_string(value);
        break;
      default:
        break;
    }
  }
  void on_header_impl(error_code& error) override {
    done_ = true;
    if (hosts_ > 1 || (hosts_ == 0 && head.is_1_1)) error = http::error::bad_field;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(Text part, error_code&) override { return take(part); }
  void on_chunk_header_impl(std::uint64_t, Text, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text part, error_code&) override { return take(part); }
  void on_finish_impl(error_code&) override {}

  std::size_t take(Text part) {
    size += part.size();
    if (discards) return part.size();
    if (size > max_body)
      refuse(413, fmt::format("expected a body of at most {} bytes, found more", max_body));
    body.append(part.data(), part.size());
    return part.size();
  }

  int hosts_ = 0, encodings_ = 0;
  bool done_ = false;
};

RequestReader::RequestReader(std::size_t max_header, std::size_t max_body)
    : max_header_(max_header), max_body_(max_body) {
  next();
}
RequestReader::~RequestReader() = default;

void RequestReader::next() {
  parser_ = std::make_unique<Parser>();
  parser_->header_limit(static_cast<std::uint32_t>(max_header_));
  // The router compares the length in the head before the body is read. (Boost 1.74 treats boost::none as 0.)
  parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
  parser_->max_body = max_body_;
}

std::size_t RequestReader::put(std::string_view bytes) {
  std::size_t used = 0;
  // An empty line before a request is skipped (RFC 9112, section 2.2).
  if (parser_->head_size == 0 && !parser_->skipped_line && bytes.starts_with('\r')) {
    if (bytes.size() == 1) return 0;
    if (bytes[1] == '\n') used = 2;
    parser_->skipped_line = true;
  }
  while (used < bytes.size() && !parser_->is_done()) {
    const bool had_head = parser_->is_header_done();
    error_code error;
    const std::size_t more = parser_->put({bytes.data() + used, bytes.size() - used}, error);
    used += more;
    if (!had_head) parser_->head_size += more;
    const bool is_part = error == http::error::need_more;
    // The library limits only unparsed bytes; the head of a chunk has no limit.
    if (parser_->head_size > max_header_ || (is_part && bytes.size() - used > max_header_))
      refuse_bytes(http::error::header_limit, max_header_);
    if (is_part) break;
    if (error) refuse_bytes(error, max_header_);
    if (!had_head && parser_->is_header_done()) {
      RequestHead& head = parser_->head;
      head.keeps_alive = parser_->keep_alive();
      head.has_body = !parser_->is_done();
      if (head.has_body && !parser_->chunked()) head.length = *parser_->content_length();
      break;  // the caller decides whether the body is read at all
    }
    if (more == 0) break;
  }
  return used;
}

bool RequestReader::has_head() const {
  return parser_->is_header_done();
}
bool RequestReader::is_done() const {
  return parser_->is_done();
}
const RequestHead& RequestReader::head() const {
  return parser_->head;
}
std::size_t RequestReader::body_size() const {
  return parser_->size;
}
std::string RequestReader::take_body() {
  return std::move(parser_->body);
}
void RequestReader::discard() {
  parser_->discards = true;
  parser_->body = {};
}

}  // namespace attend::serve
