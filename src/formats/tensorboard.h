// TensorBoard event files: TFRecords (tensorflow/core/lib/io/record_writer.h) of Event messages
// (tensorflow/core/util/event.proto). Only scalars.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace attend {

// The messages and their framing, independent of the file. `wall_time` is in seconds since 1970.
std::string version_event(double wall_time);  // the first record of every file
std::string scalar_event(double wall_time, std::string_view tag, std::int64_t step, double value);
std::string tensorboard_record(std::string_view message);
std::uint32_t crc32c(std::string_view bytes);  // Castagnoli's polynomial, RFC 3720 appendix B.4

// Each writer creates its own file; TensorBoard shows all files of a directory as one run, so a resumed run
// continues the first one.
class TensorBoardWriter {
 public:
  // Creates the directory if it is missing. An Error if the file cannot be created.
  explicit TensorBoardWriter(const std::filesystem::path& directory);
  ~TensorBoardWriter();  // flushes; a failure is only a warning then
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  // Stored as float32, like TensorBoard's own. NaN and infinity are shown as such.
  void scalar(std::string_view tag, std::int64_t step, double value);
  // After this, readers see all scalars so far. After an Error (a full disk) nothing is lost: the next flush
  // tries again.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;  // of the complete records in the file
  std::string pending_;
};

}  // namespace attend
