#include "base/file.h"

#include "base/error.h"
#include "base/text_lines.h"
#include "base/utf8.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

// Parts of the name of an unfinished file.
constexpr std::string_view kTemporary = ".attend-", kTemporaryEnd = ".tmp";

std::string reason(int error) {
  return std::generic_category().message(error);
}

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return number_; }

 private:
  int number_;
};

// Repeats a system call while signals interrupt it.
template <class Call>
auto uninterrupted(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

int open_to_read(const fs::path& path) {
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (descriptor < 0) fail_system("{}: cannot open: {}", path.string(), reason(errno));
  return descriptor;
}

struct stat status_of(int descriptor, const fs::path& path) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) fail_system("{}: cannot read: {}", path.string(), reason(errno));
  if (S_ISDIR(status.st_mode)) fail("{}: expected a file, found a directory", path.string());
  return status;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Removes unfinished files of killed runs. A file that cannot be removed does no harm.
void remove_leftovers(const fs::path& directory) {
  std::error_code ignored;
  for (fs::directory_iterator entry(directory, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    std::error_code kept;
    if (name.starts_with(kTemporary) && name.ends_with(kTemporaryEnd)) fs::remove(entry->path(), kept);
  }
}

}  // namespace

bool file_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string read_file(const fs::path& path, std::uint64_t max_bytes) {
  const Descriptor descriptor(open_to_read(path));
  const struct stat status = status_of(descriptor, path);
  const auto check = [&](std::uint64_t size) {
    if (size > max_bytes)
      fail("{}: longer than the {} bytes that are read at most", path.string(), max_bytes);
  };
  const std::uint64_t expected = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
  check(expected);

  // One byte more than expected, so that the final read, which returns 0, needs no more room. Pipes and files
  // of /proc have no size and grow as they are read.
  std::string text(expected + 1, '\0');
  for (std::size_t size = 0;;) {
    const ssize_t got =
        uninterrupted([&] { return ::read(descriptor, text.data() + size, text.size() - size); });
    if (got < 0) fail_system("{}: cannot read: {}", path.string(), reason(errno));
    size += static_cast<std::size_t>(got);
    if (got == 0) {
      text.resize(size);
      return text;
    }
    check(size);
    constexpr std::size_t min_growth = std::size_t{1} << 16;
    if (size == text.size()) text.resize(size + std::max(size / 2, min_growth));
  }
}

std::vector<std::string> read_lines(const fs::path& path) {
  const std::string text = read_file(path);
  LineReader reader(without_byte_order_mark(text, path.string()), path.string());
  std::vector<std::string> lines;
  while (const auto line = reader.next()) {
    if (const auto at = find_invalid_utf8(*line)) fail("{}: invalid UTF-8 at byte {}", reader.place(), *at);
    lines.emplace_back(*line);
  }
  return lines;
}

MappedFile::MappedFile(const fs::path& path) : path_(path) {
  const Descriptor descriptor(open_to_read(path));
  const struct stat status = status_of(descriptor, path);
  if (!S_ISREG(status.st_mode)) fail("{}: expected a regular file, found a pipe or a device", path.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // mmap refuses a length of 0
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) fail_system("{}: cannot map: {}", path.string(), reason(errno));
  mapping_ = std::shared_ptr<const void>(
      address, [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); });
  bytes_ = {static_cast<const std::byte*>(address), size};
}

void MappedFile::drop_pages() const {
  // On failure the memory merely stays in use.
  if (!bytes_.empty()) ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

DirectoryLock::DirectoryLock(const fs::path& directory)
    : descriptor_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail_system("{}: cannot open the directory: {}", directory.string(), reason(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {
    remove_leftovers(directory);
  } else if (errno == EWOULDBLOCK) {  // a file system without locks must not prevent work
    ::close(descriptor_);
    fail_system("{}: another run is writing here; wait for it or choose another directory",
                directory.string());
  }
}

DirectoryLock::~DirectoryLock() {
  ::close(descriptor_);
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  if (!path_.has_filename()) fail("{}: expected the name of a file to write", path_.string());
  // Renaming onto a device such as /dev/null would replace the device.
  struct stat status;
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    fail("{}: expected a regular file or a new name, found a {}", path_.string(),
         S_ISDIR(status.st_mode) ? "directory" : "pipe or a device");

  static std::atomic<unsigned> count = 0;
  do {
    temporary_ = folder_of(path_) / fmt::format("{}{}-{}{}", kTemporary, ::getpid(), count++, kTemporaryEnd);
    descriptor_ = uninterrupted(
        [&] { return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0)
    fail_system("{}: cannot create a file in {}: {}", path_.string(), folder_of(path_).string(),
                reason(errno));
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::give_up(int error) {
  discard();  // at once: on a full disk the unfinished file takes the space
  fail_system("{}: cannot write: {}", path_.string(), reason(error));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) fail_system("{}: cannot write: the file is closed", path_.string());
  while (!bytes.empty()) {
    const ssize_t written = uninterrupted([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
    if (written < 0) give_up(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (descriptor_ < 0) fail_system("{}: cannot write: the file is closed", path_.string());
  // The data must be on the disk before the name points to it, and the name before anyone relies on it.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) give_up(errno);  // EINVAL: the file system has no fsync
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) give_up(errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) give_up(errno);
  temporary_.clear();
  const Descriptor folder(::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder >= 0 && ::fsync(folder) != 0 && errno != EINVAL)  // a folder may be writable and not readable
    fail_system("{}: written, but its folder cannot be synchronized: {}", path_.string(), reason(errno));
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void copy_file_atomically(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  AtomicFile copy(to);
  copy.write(MappedFile(from).bytes());
  copy.commit();
}

}  // namespace attend
