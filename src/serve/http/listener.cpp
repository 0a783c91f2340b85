#include "serve/http/listener.h"

#include "base/error.h"

#include <cstring>
#include <filesystem>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace attend::serve {
namespace {

constexpr int kBacklog = 4096;  // the kernel has its own limit, net.core.somaxconn

std::unique_ptr<boost::asio::ssl::context> read_tls(const ServerOptions& options) {
  using Context = boost::asio::ssl::context;
  if (options.certificate.empty() && options.private_key.empty()) return nullptr;
  if (!options.socket.empty()) fail("--socket: a Unix socket speaks no TLS; leave out one of them");
  if (options.certificate.empty() || options.private_key.empty())
    fail("expected both --tls-certificate and --tls-key, found one");
  for (const std::string& file : {options.certificate, options.private_key})
    if (!std::filesystem::is_regular_file(file)) fail("{}: there is no such file", file);
  auto context = std::make_unique<Context>(Context::tls_server);
  context->set_options(Context::default_workarounds | Context::no_sslv3 | Context::no_tlsv1 |
                       Context::no_tlsv1_1);
  error_code error;
  context->use_certificate_chain_file(options.certificate, error);
  if (!error) context->use_private_key_file(options.private_key, Context::pem, error);
  if (error || SSL_CTX_check_private_key(context->native_handle()) != 1)
    fail("{} and {}: expected a certificate and its private key in PEM", options.certificate,
         options.private_key);
  return context;
}

int open_socket(int family) {
  return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

std::string name_of(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST];
  const bool is_known =
      address.ss_family != AF_UNIX && getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host,
                                                  sizeof host, nullptr, 0, NI_NUMERICHOST) == 0;
  return is_known ? host : "unix";
}

}  // namespace

Listener::Listener(const ServerOptions& options) : tls_(read_tls(options)) {
  if (options.socket.empty())
    listen_on_port(options);
  else
    listen_on_file(options.socket);
}

Listener::~Listener() {
  if (descriptor_ >= 0) ::close(descriptor_);
  std::error_code ignored;
  if (!file_.empty()) std::filesystem::remove(file_, ignored);
}

void Listener::listen_on_file(const std::string& file) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (file.size() >= sizeof address.sun_path)
    fail("--socket: expected a path of at most {} bytes, found {}", sizeof address.sun_path - 1, file.size());
  std::memcpy(address.sun_path, file.c_str(), file.size() + 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  descriptor_ = open_socket(AF_UNIX);
  if (descriptor_ < 0) fail_system("cannot make a socket");
  // An earlier server has left the socket file if nothing answers on it.
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool is_taken = probe >= 0 && connect(probe, generic, sizeof address) == 0;
  ::close(probe);
  if (is_taken) fail("{}: another program listens there", file);
  if (std::filesystem::is_socket(file)) std::filesystem::remove(file);
  const mode_t before = umask(0117);  // for the user and the group
  const int bound = bind(descriptor_, generic, sizeof address);
  umask(before);
  if (bound != 0 || ::listen(descriptor_, kBacklog) != 0) fail_system("cannot listen on {}", file);
  file_ = file;
}

void Listener::listen_on_port(const ServerOptions& options) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (const int error =
          getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &found))
    fail("--host {}: {}", options.host, gai_strerror(error));
  for (const addrinfo* each = found; each != nullptr && descriptor_ < 0; each = each->ai_next) {
    descriptor_ = open_socket(each->ai_family);
    const int yes = 1;
    setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (descriptor_ >= 0 && bind(descriptor_, each->ai_addr, each->ai_addrlen) == 0 &&
        ::listen(descriptor_, kBacklog) == 0)
      break;
    const int error = errno;
    ::close(std::exchange(descriptor_, -1));
    errno = error;
  }
  freeaddrinfo(found);
  if (descriptor_ < 0)
    fail_system(
        "cannot listen on {}, port {}: another program has the port, or the address is not this machine's",
        options.host, options.port);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  getsockname(descriptor_, reinterpret_cast<sockaddr*>(&own), &size);
  port_ = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&own)->sin6_port
                                          : reinterpret_cast<const sockaddr_in*>(&own)->sin_port);
}

Listener::Client Listener::accept() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  Client client;
  client.descriptor =
      accept4(descriptor_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (client.descriptor < 0) return client;
  client.family = address.ss_family;
  client.name = name_of(address, size);
  if (client.family != AF_UNIX) {  // parts of streams are sent immediately
    const int yes = 1;
    setsockopt(client.descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  return client;
}

}  // namespace attend::serve
