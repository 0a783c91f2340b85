// The library's server, on a port or on a Unix socket, with or without TLS.
#pragma once

#include "serve/server.h"

#include <httplib.h>

namespace attend::serve {

// One that listens as the options say, and on which port; 0: on a file. Error if that cannot be had.
struct Listener {
  std::unique_ptr<httplib::Server> http;
  int port = 0;
};
Listener listen(const ServerOptions& options);

}  // namespace attend::serve
