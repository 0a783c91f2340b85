#include "serve/listener.h"

#include "base/error.h"

#include <cstring>
#include <filesystem>

#include <sys/stat.h>
#include <sys/un.h>

namespace attend::serve {
namespace {

constexpr int kBacklog = 1024;  // the kernel has a limit of its own, net.core.somaxconn

// The library knows ports alone.
class UnixServer : public httplib::Server {
 public:
  explicit UnixServer(const std::string& file) : file_(file) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (file.size() >= sizeof address.sun_path)
      fail("--socket: expected a path of at most {} bytes, found {}", sizeof address.sun_path - 1,
           file.size());
    std::memcpy(address.sun_path, file.c_str(), file.size() + 1);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) fail_system("cannot make a socket");
    svr_sock_ = socket;
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    // Nothing answers at a file that an earlier server has left.
    if (connect(socket, generic, sizeof address) == 0) fail("{}: another program listens there", file);
    if (std::filesystem::is_socket(file)) std::filesystem::remove(file);
    const mode_t before = umask(0117);  // for the user and the group
    const int bound = bind(socket, generic, sizeof address);
    umask(before);
    if (bound != 0 || ::listen(socket, kBacklog) != 0) fail_system("cannot listen on {}", file);
  }
  ~UnixServer() override {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }

 private:
  std::string file_;
};

std::unique_ptr<httplib::Server> make_for_port(const ServerOptions& options) {
  if (options.certificate.empty() && options.private_key.empty()) return std::make_unique<httplib::Server>();
  if (options.certificate.empty() || options.private_key.empty())
    fail("expected both --tls-certificate and --tls-key, found one");
  for (const std::string& file : {options.certificate, options.private_key})
    if (!std::filesystem::is_regular_file(file)) fail("{}: there is no such file", file);
  auto server =
      std::make_unique<httplib::SSLServer>(options.certificate.c_str(), options.private_key.c_str());
  if (!server->is_valid())
    fail("{} and {}: expected a certificate and its private key in PEM", options.certificate,
         options.private_key);
  return server;
}

}  // namespace

Listener listen(const ServerOptions& options) {
  if (!options.socket.empty()) {
    if (!options.certificate.empty() || !options.private_key.empty())
      fail("--socket: a Unix socket speaks no TLS; leave out one of them");
    return {std::make_unique<UnixServer>(options.socket), 0};
  }
  Listener made{make_for_port(options)};
  int listening = INVALID_SOCKET;
  // Not as the library has it, which lets several programs share a port.
  made.http->set_socket_options([&listening](socket_t socket) {
    listening = socket;
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  made.http->set_tcp_nodelay(true);
  made.port = options.port == 0 ? made.http->bind_to_any_port(options.host)
              : made.http->bind_to_port(options.host, options.port) ? options.port
                                                                    : -1;
  if (made.port <= 0)
    fail_system(
        "cannot listen on {}, port {}: another program has the port, or the address is not this machine's",
        options.host, options.port);
  // Connections that are not accepted yet. The library keeps 5, and the others' clients try again in a
  // second.
  if (::listen(listening, kBacklog) != 0)
    fail_system("cannot listen on {}, port {}", options.host, made.port);
  made.http->set_socket_options([](socket_t) {});  // the other one ends with this call
  return made;
}

}  // namespace attend::serve
