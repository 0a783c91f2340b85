// Text that one thread makes and another sends.
#include "serve/http/pipe.h"

#include "temporary_directory.h"

#include <thread>

namespace attend::serve {
namespace {

using std::chrono::milliseconds;

std::string all_of(Pipe& pipe, Pipe::State& end) {
  std::string all;
  for (;;) {
    const Pipe::Part part = pipe.take(milliseconds(1000));
    all += part.text;
    end = part.state;
    if (part.state != Pipe::State::open) return all;
  }
}

TEST(Pipe, KeepsTheOrder) {
  Pipe pipe;
  std::jthread maker([&] {
    for (int i = 0; i < 100; ++i) pipe.put(std::to_string(i) + " ");
    pipe.end("end");
  });
  Pipe::State end{};
  const std::string all = all_of(pipe, end);
  EXPECT_TRUE(all.starts_with("0 1 2 ")) << all;
  EXPECT_TRUE(all.ends_with("98 99 end")) << all;
  EXPECT_EQ(end, Pipe::State::ended);
}

TEST(Pipe, WaitsUpToItsTimeout) {
  Pipe pipe;
  const Pipe::Part part = pipe.take(milliseconds(1));
  EXPECT_EQ(part.text, "");
  EXPECT_EQ(part.state, Pipe::State::open);
}

TEST(Pipe, ReportsTheError) {
  Pipe pipe, broken;
  pipe.fail(std::make_exception_ptr(Error("no such token")));
  const Pipe::Part part = pipe.take(milliseconds(1000));
  EXPECT_EQ(part.state, Pipe::State::broken);
  ASSERT_TRUE(part.error);
  EXPECT_EQ(error_of([&] { std::rethrow_exception(part.error); }), "no such token");
  broken.put("half a");
  broken.cut_off();
  Pipe::State end{};
  EXPECT_EQ(all_of(broken, end), "half a");
  EXPECT_EQ(end, Pipe::State::broken);
}

TEST(Pipe, NotifiesTheWriterOnceOfADisconnect) {
  Pipe pipe;
  int told = 0;
  pipe.on_disconnect([&] { ++told; });
  pipe.gone();
  pipe.gone();
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace attend::serve
