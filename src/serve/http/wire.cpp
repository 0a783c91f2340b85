#include "serve/http/wire.h"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

namespace attend::serve {
namespace {

namespace asio = boost::asio;

class PlainWire : public Wire {
 public:
  explicit PlainWire(Socket socket) : socket_(std::move(socket)) {}
  void begin(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}, 0); });
  }
  void read_some(char* data, std::size_t size, Done done) override {
    socket_.async_read_some(asio::buffer(data, size), std::move(done));
  }
  void write(const char* data, std::size_t size, Done done) override {
    asio::async_write(socket_, asio::buffer(data, size), std::move(done));
  }
  Socket& socket() override { return socket_; }

 private:
  Socket socket_;
};

class TlsWire : public Wire {
 public:
  TlsWire(Socket socket, asio::ssl::context& context) : stream_(std::move(socket), context) {}
  void begin(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [done = std::move(done)](error_code error) { done(error, 0); });
  }
  void read_some(char* data, std::size_t size, Done done) override {
    stream_.async_read_some(asio::buffer(data, size), std::move(done));
  }
  void write(const char* data, std::size_t size, Done done) override {
    asio::async_write(stream_, asio::buffer(data, size), std::move(done));
  }
  Socket& socket() override { return stream_.next_layer(); }

 private:
  asio::ssl::stream<Socket> stream_;
};

}  // namespace

void Wire::say_end() {
  error_code ignored;
  socket().shutdown(Socket::shutdown_send, ignored);
}

void Wire::close() {
  error_code ignored;
  socket().close(ignored);
}

std::unique_ptr<Wire> make_wire(Socket socket, asio::ssl::context* tls) {
  if (tls != nullptr) return std::make_unique<TlsWire>(std::move(socket), *tls);
  return std::make_unique<PlainWire>(std::move(socket));
}

}  // namespace attend::serve
