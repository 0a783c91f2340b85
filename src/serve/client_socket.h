// The client at the other end of a request, while a handler works for it.
#pragma once

#include <string>

namespace attend::serve {

// cpp-httplib tells a handler the client's address but not its socket, so that is looked for among the
// process's.
class ClientSocket {
 public:
  ClientSocket(const std::string& address, int port);
  // False once the client has closed its end. True if the socket was not found.
  bool is_there() const;

 private:
  int socket_ = -1;
};

}  // namespace attend::serve
