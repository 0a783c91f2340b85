// Parsing requests: bytes in parts, several requests, and ambiguous requests that two readers could
// understand differently.
#include "serve/http/request_reader.h"

#include "serve/http/server.h"

#include <gtest/gtest.h>

namespace attend::serve {
namespace {

constexpr std::size_t kMaxHead = 1024, kMaxBody = 100;

// Reads `bytes`, `piece` at a time, like a connection; returns the rest.
std::string feed(RequestReader& reader, const std::string& bytes, std::size_t piece = 1000000) {
  std::string waiting;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    waiting += bytes.substr(at, piece);
    while (!waiting.empty() && !reader.is_done()) {
      const bool had_head = reader.has_head();
      const std::size_t used = reader.put(waiting);
      waiting.erase(0, used);
      if (used == 0 && had_head == reader.has_head()) break;
    }
  }
  return waiting;
}

int status_for(const std::string& bytes, std::size_t piece = 1000000) {
  RequestReader reader(kMaxHead, kMaxBody);
  try {
    feed(reader, bytes, piece);
    return reader.is_done() ? 200 : 0;
  } catch (...) {
    return status_of(std::current_exception()).first;
  }
}

std::string post(const std::string& fields, const std::string& body) {
  return "POST /a HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + body;
}

TEST(RequestReader, ReadsRequestsInPiecesOfAnySize) {
  const std::string one = post("Content-Length: 5\r\nX-Request-Id: mine\r\n", "hello"),
                    chunks = post("Transfer-Encoding: chunked\r\n",
                                  "3\r\nabc\r\n2;a=b\r\nde\r\n0\r\nAuthorization: no\r\n\r\n");
  for (const std::size_t piece : {1, 2, 3, 7, 1000}) {
    RequestReader reader(kMaxHead, kMaxBody);
    EXPECT_EQ(feed(reader, one, piece), "");
    ASSERT_TRUE(reader.is_done()) << piece;
    EXPECT_EQ(reader.head().method, "POST");
    EXPECT_EQ(reader.head().path, "/a");
    EXPECT_EQ(reader.head().request_id, "mine");
    EXPECT_EQ(reader.take_body(), "hello");
    reader.next();
    feed(reader, chunks, piece);
    ASSERT_TRUE(reader.is_done()) << piece;
    EXPECT_EQ(reader.take_body(), "abcde");
    EXPECT_EQ(reader.head().authorization, "") << "a trailer counts for nothing";
  }
}

TEST(RequestReader, LeavesTheNextRequestAlone) {
  const std::string next = "GET /b%20c?d HTTP/1.0\r\n\r\n";
  RequestReader reader(kMaxHead, kMaxBody);
  const std::string left = feed(reader, post("Content-Length: 2\r\n", "hi") + next);
  EXPECT_EQ(left, next);
  reader.next();
  EXPECT_EQ(feed(reader, left), "");
  ASSERT_TRUE(reader.is_done());
  EXPECT_EQ(reader.head().path, "/b c");
  EXPECT_FALSE(reader.head().is_1_1);
  EXPECT_FALSE(reader.head().keeps_alive);
}

TEST(RequestReader, SkipsOneEmptyLineBeforeARequest) {
  for (const std::size_t piece : {1, 2, 3, 1000}) {
    EXPECT_EQ(status_for("\r\n" + post("Content-Length: 2\r\n", "hi"), piece), 200) << piece;
    EXPECT_EQ(status_for("\r\n\r\n" + post("Content-Length: 2\r\n", "hi"), piece), 400) << piece;
  }
}

TEST(RequestReader, RefusesAmbiguousRequests) {
  for (const char* fields :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: abc\r\n", "Content-Length: -5\r\n", "Content-Length: +5\r\n", "Content-Length: \r\n",
        "Content-Length: 99999999999999999999999\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Content-Length : 5\r\n", "Host: y\r\n"})
    for (const std::size_t piece : {1, 1000})
      EXPECT_EQ(status_for(post(fields, "hello"), piece), 400) << fields;
  EXPECT_EQ(status_for("GET / HTTP/1.1\r\n\r\n"), 400) << "no host";
  EXPECT_EQ(status_for("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status_for("GET / HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_for("nonsense\r\n\r\n"), 400);
  EXPECT_EQ(status_for(post("Transfer-Encoding: chunked\r\n", "x\r\n")), 400);
}

TEST(RequestReader, LimitsTheSizeOfRequests) {
  EXPECT_EQ(status_for("GET /" + std::string(2 * kMaxHead, 'a') + " HTTP/1.1\r\n\r\n"), 431);
  EXPECT_EQ(status_for(post("A: " + std::string(2 * kMaxHead, 'a') + "\r\n", "")), 431);
  std::string many;
  for (int i = 0; i < 500; ++i) many += "A: b\r\n";
  EXPECT_EQ(status_for(post(many, ""), 6), 431);
  EXPECT_EQ(status_for(post("Transfer-Encoding: chunked\r\n", "1;" + std::string(3 * kMaxHead, 'a')), 100),
            431);
  EXPECT_EQ(
      status_for(post("Transfer-Encoding: chunked\r\n", "80\r\n" + std::string(128, 'a') + "\r\n0\r\n\r\n")),
      413);
}

}  // namespace
}  // namespace attend::serve
