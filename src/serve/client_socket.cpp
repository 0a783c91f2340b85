#include "serve/client_socket.h"

#include <charconv>
#include <filesystem>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

namespace attend::serve {
namespace {

bool has_peer(int socket, const std::string& address, int port) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  auto* const generic = reinterpret_cast<sockaddr*>(&peer);
  if (getpeername(socket, generic, &size) != 0) return false;
  char host[NI_MAXHOST], service[NI_MAXSERV];
  return getnameinfo(generic, size, host, sizeof host, service, sizeof service,
                     NI_NUMERICHOST | NI_NUMERICSERV) == 0 &&
         address == host && std::to_string(port) == service;
}

}  // namespace

ClientSocket::ClientSocket(const std::string& address, int port) {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", gone)) {
    const std::string name = entry.path().filename().string();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    if (!has_peer(descriptor, address, port)) continue;
    socket_ = descriptor;
    return;
  }
}

bool ClientSocket::is_there() const {
  if (socket_ < 0) return true;
  pollfd state{.fd = socket_, .events = POLLIN, .revents = 0};
  if (poll(&state, 1, 0) <= 0) return true;  // nothing to read, not even an end
  char next = 0;
  return recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace attend::serve
