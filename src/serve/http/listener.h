// The address of a server: a port or a Unix socket, with or without TLS.
#pragma once

#include "serve/http/server.h"
#include "serve/http/wire.h"

namespace attend::serve {

class Listener {
 public:
  // An Error if it is not available.
  explicit Listener(const ServerOptions& options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int descriptor() const { return descriptor_; }  // non-blocking
  int port() const { return port_; }              // 0: a Unix socket
  boost::asio::ssl::context* tls() const { return tls_.get(); }

  struct Client {
    int descriptor = -1;
    int family = 0;
    std::string name;  // its address
  };
  // The next waiting connection; descriptor -1, with errno, if there is none.
  Client accept() const;

 private:
  void listen_on_file(const std::string& file);
  void listen_on_port(const ServerOptions& options);

  int descriptor_ = -1, port_ = 0;
  std::string file_;
  std::unique_ptr<boost::asio::ssl::context> tls_;
};

}  // namespace attend::serve
