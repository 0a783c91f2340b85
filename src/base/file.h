// Files: whole reads, read-only mappings, and writes that are either complete or not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// A file or directory is there and can be seen; never an Error.
bool file_exists(const std::filesystem::path& path);

// The whole file. Error if it cannot be read or is longer than `max_bytes`.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = std::uint64_t{1} << 32);

// The lines of a text file without their line ends (\n or \r\n). Every line must be valid UTF-8: the error
// names the file and the line.
std::vector<std::string> read_lines(const std::filesystem::path& path);

// A regular file mapped read-only. Copies share the mapping; it ends with the last copy. Whoever shortens the
// file in the meantime kills the process (SIGBUS): replace files by renaming, as AtomicFile does.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }
  // Gives back the memory of the pages that have been read; they are read again when they are touched.
  void drop_pages() const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const void> mapping_;
  std::span<const std::byte> bytes_;
};

// Writes beside `path` and takes its place on commit(); destroyed without commit(), leaves nothing behind.
// Every failure (a full disk too) is an Error that names `path` and leaves what was there before. A symbolic
// link is replaced, not followed; a device or a pipe is refused.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  void discard();
  [[noreturn]] void give_up(int error);

  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
};

// Keeps a directory for one process: Error if another holds it. Ends with the process however it ends. Files
// that a killed one was about to write are removed.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::filesystem::path& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int descriptor_ = -1;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace attend
