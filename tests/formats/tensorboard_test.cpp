#include "formats/tensorboard.h"

#include "base/file.h"
#include "temporary_directory.h"

#include <bit>
#include <cmath>
#include <csignal>
#include <cstring>

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>
#include <sys/resource.h>

namespace attend {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at < hex.size(); at += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
  return bytes;
}

// The messages of a file; each frame is checked.
std::vector<std::string> messages_of(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    messages.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(bytes.substr(at, 12 + length + 4), tensorboard_record(messages.back()));
    at += 12 + length + 4;
  }
  return messages;
}

struct Scalar {
  std::string tag;
  std::int64_t step = 0;
  float value = 0;
  bool operator==(const Scalar&) const = default;
};

Scalar read_scalar(const std::string& message) {
  Scalar scalar;
  protozero::pbf_reader event(message);
  while (event.next()) {
    if (event.tag() == 2) {
      scalar.step = event.get_int64();
    } else if (event.tag() == 5) {
      protozero::pbf_reader summary = event.get_message();
      EXPECT_TRUE(summary.next(1));
      protozero::pbf_reader value = summary.get_message();
      EXPECT_TRUE(value.next(1));
      scalar.tag = value.get_string();
      EXPECT_TRUE(value.next(2));
      scalar.value = value.get_float();
    } else {
      event.skip();
    }
  }
  return scalar;
}

TEST(TensorBoard, ComputesCastagnolisCrc) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);            // the check value of CRC catalogues
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32c(""), 0u);
}

// The bytes written by the Python package tensorboard 2.21 (EventFileWriter's RecordWriter and event_pb2).
TEST(TensorBoard, WritesTheBytesOfTheReferenceImplementation) {
  EXPECT_EQ(tensorboard_record(version_event(1.5)),
            from_hex("1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c"));
  EXPECT_EQ(tensorboard_record(scalar_event(2.25, "train/loss", 300, 0.5)),
            from_hex("2100000000000000017becf609000000000000024010ac022a130a110a0a747261696e2f6c6f73731500000"
                     "03fd2017983"));
}

TEST(TensorBoard, WritesScalars) {
  const TemporaryDirectory directory;
  TensorBoardWriter writer(directory.path() / "runs" / "one");
  EXPECT_TRUE(writer.path().filename().string().starts_with("events.out.tfevents."));
  writer.scalar("loss", 1, 2.5);
  writer.scalar("rate \xFF", std::int64_t{1} << 40, -0.125);
  writer.flush();
  writer.scalar("later", 2, 1e300);
  const auto messages =
      messages_of(writer.path());  // unflushed messages may be missing, but are never incomplete
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_TRUE(contains(messages[0], "brain.Event:2"));
  EXPECT_EQ(read_scalar(messages[1]), (Scalar{"loss", 1, 2.5f}));
  EXPECT_EQ(read_scalar(messages[2]), (Scalar{"rate \xEF\xBF\xBD", std::int64_t{1} << 40, -0.125f}));
}

TEST(TensorBoard, FlushesAtItsEndAndNeverSharesAFile) {
  const TemporaryDirectory directory;
  std::filesystem::path first, second;
  {
    TensorBoardWriter one(directory.path()), two(directory.path());
    first = one.path(), second = two.path();
    one.scalar("a", 1, 1);
    two.scalar("b", 2, std::nan(""));
  }
  EXPECT_NE(first, second);
  EXPECT_EQ(read_scalar(messages_of(first).at(1)), (Scalar{"a", 1, 1}));
  EXPECT_TRUE(std::isnan(read_scalar(messages_of(second).at(1)).value));
}

TEST(TensorBoard, GoesOnAfterAFullDisk) {
  const TemporaryDirectory directory;
  TensorBoardWriter writer(directory.path());
  writer.flush();
  for (int step = 0; step < 100; ++step) writer.scalar("loss", step, step);

  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full = {std::filesystem::file_size(writer.path()) + 100, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  const std::string message = error_of([&] { writer.flush(); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, writer.path().string() + ": cannot write: File too large");

  writer.scalar("loss", 100, 100);
  writer.flush();
  const auto messages = messages_of(writer.path());
  ASSERT_EQ(messages.size(), 102u);
  for (int step = 0; step <= 100; ++step)
    EXPECT_EQ(read_scalar(messages[static_cast<std::size_t>(step) + 1]),
              (Scalar{"loss", step, static_cast<float>(step)}));
}

TEST(TensorBoard, NamesADirectoryItCannotMake) {
  const TemporaryDirectory directory;
  const auto file = directory.file("x", "");
  EXPECT_TRUE(contains(error_of([&] { TensorBoardWriter(file / "runs"); }), "x/runs: cannot create"));
}

}  // namespace
}  // namespace attend
