#include "tensor/file_memory.h"

#include "tensor/ops.h"
#include "tensor/tape.h"

#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace attend::ops {
namespace {

class UnnamedFile {
 public:
  explicit UnnamedFile(const std::filesystem::path& folder) : folder_(folder) {
    std::string name = (folder / ".attend-XXXXXX").string();
    number_ = mkostemp(name.data(), O_CLOEXEC);
    if (number_ < 0) fail_here("cannot create a file", errno);
    unlink(name.c_str());
  }
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;
  ~UnnamedFile() { close(number_); }

  // Reserves the bytes, because a write to a mapped page that the disk has no room for would end the process.
  std::byte* map(std::size_t bytes) {
    if (const int error = posix_fallocate(number_, 0, static_cast<off_t>(bytes)))
      fail_here(fmt::format("cannot reserve {} bytes", bytes), error);
    void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, number_, 0);
    if (begin == MAP_FAILED) fail_here(fmt::format("cannot map {} bytes", bytes), errno);
    return static_cast<std::byte*>(begin);
  }

 private:
  [[noreturn]] void fail_here(const std::string& what, int error) const {
    fail_system("{}: {}: {}", folder_.string(), what, std::strerror(error));
  }

  std::filesystem::path folder_;
  int number_;
};

}  // namespace

Tensor in_file(const Tensor& t, const std::filesystem::path& folder) {
  if (t.numel() == 0) return t.clone();
  const auto bytes = static_cast<std::size_t>(t.bytes());
  std::byte* const begin = UnnamedFile(folder).map(bytes);
  const Tensor made = from_memory(
      begin, t.sizes(), [bytes](void* memory) { munmap(memory, bytes); }, t.type());
  const Unrecorded no_gradient;
  made.copy_(t.detach());
  return made;
}

}  // namespace attend::ops
