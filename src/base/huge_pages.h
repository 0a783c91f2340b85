// Memory for large tables that are read here and there: in pages of 2 MiB where the system has them, since
// finding out where a page of 4 KiB lies costs as much as reading it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include <sys/mman.h>

namespace attend {

// `count` objects, all bytes zero; memory is taken when it is first touched.
template <class T>
class HugePages {
 public:
  HugePages() = default;
  explicit HugePages(std::size_t count) : begin_(map(count * sizeof(T) + page), {count * sizeof(T) + page}) {
    void* aligned = begin_.get();
    std::size_t space = count * sizeof(T) + page;
    data_ = static_cast<T*>(std::align(page, count * sizeof(T), aligned, space));
    ::madvise(data_, count * sizeof(T), MADV_HUGEPAGE);  // if not, then not
  }
  T* get() const { return data_; }

 private:
  static constexpr std::size_t page = std::size_t{2} << 20;
  struct Unmap {
    std::size_t size = 0;
    void operator()(void* begin) const { ::munmap(begin, size); }
  };
  static void* map(std::size_t size) {
    void* const begin = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) throw std::bad_alloc();
    return begin;
  }

  std::unique_ptr<void, Unmap> begin_;
  T* data_ = nullptr;  // in it
};

}  // namespace attend
