// Files: whole reads, read-only mappings, and atomic writes.
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

// Whether a file or directory exists and is visible; never throws.
bool file_exists(const std::filesystem::path& path);

// Reads the whole file. Throws Error if it cannot be read or is longer than `max_bytes`.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = std::uint64_t{1} << 32);

// The lines of a text file without their line ends (\n or \r\n). Throws Error with file and line if a line is
// not valid UTF-8.
std::vector<std::string> read_lines(const std::filesystem::path& path);

// A regular file, mapped read-only. Copies share the mapping, which ends with the last copy. If another
// process shortens the file, this one is killed (SIGBUS): replace files by renaming, as AtomicFile does.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }
  // Frees the memory of the pages that were read; touching them reads them again.
  void drop_pages() const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const void> mapping_;
  std::span<const std::byte> bytes_;
};

// Writes a temporary file next to `path` and renames it to `path` on commit(); without commit() it is
// removed. Every failure (also a full disk) is an Error that names `path` and leaves the old file unchanged.
// A symbolic link is replaced, not followed; a device or a pipe is rejected.
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

// Locks a directory for one process; throws Error if another process holds the lock. The lock ends with the
// process in any case. Removes unfinished files of killed processes.
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
// Creates missing folders of `to`.
void copy_file_atomically(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace attend
