// The bytes of one connection over TCP or a Unix socket, with or without TLS.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

namespace attend::serve {

using Socket = boost::asio::generic::stream_protocol::socket;
using boost::system::error_code;

// Callbacks come from the loop, never from the call itself. One read and one write may be in flight.
class Wire {
 public:
  using Done = std::function<void(error_code error, std::size_t bytes)>;
  virtual ~Wire() = default;
  // Call it first.
  virtual void begin(Done done) = 0;
  virtual void read_some(char* data, std::size_t size, Done done) = 0;
  virtual void write(const char* data, std::size_t size, Done done) = 0;  // all of it
  virtual Socket& socket() = 0;

  void say_end();  // nothing more is written
  void close();    // operations in flight end with an error
};

// `tls` may be null.
std::unique_ptr<Wire> make_wire(Socket socket, boost::asio::ssl::context* tls);

}  // namespace attend::serve
