#include "formats/tensorboard.h"

#include "base/error.h"
#include "base/log.h"
#include "base/utf8.h"

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>
#include <unistd.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "records hold little-endian numbers");

constexpr std::size_t max_pending = std::size_t{1} << 16;

// Field numbers of event.proto and summary.proto.
enum EventField { wall_time_field = 1, step_field = 2, file_version_field = 3, summary_field = 5 };
enum SummaryField { value_field = 1 };
enum ValueField { tag_field = 1, simple_value_field = 2 };

constexpr auto crc_table = [] {
  constexpr std::uint32_t polynomial = 0x82F63B78;  // Castagnoli's, bits reversed
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    table[byte] = crc;
  }
  return table;
}();

// A CRC over data that contains CRCs is weak, so the format rotates and shifts them.
std::uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xA282EAD8;
}

std::string_view raw(const auto& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ crc_table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

std::string version_event(double wall_time) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(wall_time_field, wall_time);
  writer.add_string(file_version_field, "brain.Event:2");
  return event;
}

std::string scalar_event(double wall_time, std::string_view tag, std::int64_t step, double value) {
  const std::string valid_tag = repair_utf8(tag);  // protobuf readers reject anything else
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(wall_time_field, wall_time);
  writer.add_int64(step_field, step);
  protozero::pbf_writer summary(writer, summary_field);
  protozero::pbf_writer entry(summary, value_field);
  entry.add_string(tag_field, valid_tag);
  entry.add_float(simple_value_field, static_cast<float>(value));
  entry.commit();
  summary.commit();
  return event;
}

std::string tensorboard_record(std::string_view message) {
  const std::uint64_t length = message.size();
  std::string record(raw(length));
  record += raw(masked_crc(raw(length)));
  record += message;
  record += raw(masked_crc(message));
  return record;
}

TensorBoardWriter::TensorBoardWriter(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail("{}: cannot create the directory: {}", directory.string(), error.message());
  const double time = now();
  // TensorBoard reads the files of a directory in the order of their names, so these begin with the time.
  const std::string name = fmt::format("events.out.tfevents.{:010}.{}.{}", static_cast<std::int64_t>(time),
                                       host_name(), ::getpid());
  int count = 0;
  do {
    path_ = directory / fmt::format("{}.{}", name, count++);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && (errno == EEXIST || errno == EINTR));
  if (descriptor_ < 0)
    fail("{}: cannot create the file: {}", path_.string(), std::generic_category().message(errno));
  pending_ = tensorboard_record(version_event(time));
}

TensorBoardWriter::~TensorBoardWriter() {
  try {
    flush();
  } catch (const std::exception& error) {
    warn("{}", error.what());
  }
  ::close(descriptor_);
}

void TensorBoardWriter::scalar(std::string_view tag, std::int64_t step, double value) {
  pending_ += tensorboard_record(scalar_event(now(), tag, step, value));
  if (pending_.size() >= max_pending) flush();
}

void TensorBoardWriter::flush() {
  for (std::size_t written = 0; written < pending_.size();) {
    // Writes at an offset instead of appending: after a failure the next flush overwrites a partial write.
    const ssize_t count = ::pwrite(descriptor_, pending_.data() + written, pending_.size() - written,
                                   static_cast<off_t>(size_ + written));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("{}: cannot write: {}", path_.string(), std::generic_category().message(errno));
    written += static_cast<std::size_t>(count);
  }
  size_ += pending_.size();
  pending_.clear();
}

}  // namespace attend
