// Memory in pages of 2 MiB, if the system has them. With 4 KiB pages, a random read spends as much time on
// address translation as on the read, and the processor prefetches only to the end of a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include <sys/mman.h>

namespace attend {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Returns `bytes` zero bytes, in whole huge pages and aligned to one; null if out of memory. Memory is
// committed on first touch. The system decides whether pages are huge; nothing else depends on it.
inline std::byte* map_huge_pages(std::size_t bytes) {
  const std::size_t mapped = bytes + kHugePage;
  void* const memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(memory);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(first) % kHugePage) % kHugePage;
  if (before > 0) ::munmap(first, before);
  ::munmap(first + before + bytes, kHugePage - before);
  ::madvise(first + before, bytes, MADV_HUGEPAGE);
  return first + before;
}

// `count` objects, all bytes zero.
template <class T>
class HugePages {
 public:
  HugePages() = default;
  explicit HugePages(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + kHugePage - 1) / kHugePage * kHugePage;
    std::byte* const memory = map_huge_pages(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    data_ = {reinterpret_cast<T*>(memory), {bytes}};
  }
  T* get() const { return data_.get(); }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(T* begin) const { ::munmap(begin, bytes); }
  };
  std::unique_ptr<T, Unmap> data_;
};

}  // namespace attend
