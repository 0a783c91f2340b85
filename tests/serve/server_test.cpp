// The server without models: statuses, and the length of its queue of connections.
#include "serve/http/server.h"

#include <attend/queue_status.h>

#include "temporary_directory.h"

#include <charconv>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace attend::serve {
namespace {

// For the listening sockets of this process: how many connections the kernel queues for each.
std::vector<unsigned> backlogs() {
  std::vector<unsigned> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string name = entry.path().filename().string();
    int descriptor = -1, listens = 0;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    socklen_t size = sizeof listens;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    tcp_info info{};
    size = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) found.push_back(info.tcpi_sacked);
  }
  return found;
}

TEST(Server, KeepsHundredsOfConnectionsInLine) {
  ServerOptions options;
  options.port = 0;
  const Server server(options);
  const std::vector<unsigned> found = backlogs();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_GE(found.front(), 128u);  // the smallest limit that the kernel has ever had
}

TEST(Server, SaysWhoseFaultAnErrorIs) {
  const auto status = [](auto error) { return status_of(std::make_exception_ptr(error)).first; };
  EXPECT_EQ(status(Error("", ErrorKind::input)), 400);
  EXPECT_EQ(status(Error("", ErrorKind::call)), 400);
  EXPECT_EQ(status(Error("", ErrorKind::model)), 500);
  EXPECT_EQ(status(Error("", ErrorKind::system)), 500);
  EXPECT_EQ(status(std::bad_alloc()), 500);
  EXPECT_EQ(status(WaitedTooLong("")), 503);
  EXPECT_EQ(status(7), 500);
  try {
    refuse(429, "come again");
  } catch (...) {
    EXPECT_EQ(status_of(std::current_exception()), std::pair(429, std::string("come again")));
  }
  EXPECT_EQ(error_json(400, "why")["error"]["code"], 400);
}

}  // namespace
}  // namespace attend::serve
