// Memory for tensors: large blocks in huge pages, reused for later tensors.
//
// A model reads its weights from start to end, again and again. With pages of 4 KiB the processor prefetches
// only to the end of each page and then has to translate the next address: GPT-2 in 8 bits made a sixth fewer
// tokens a second, several texts a fifth fewer. And the next step needs the memory that this one frees: if it
// went back to the system, it would be cleared first.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace attend {

// Cuts blocks from regions of 64 MiB, or of the size of a larger block: from the smallest free piece that is
// large enough, and of equal ones the lowest. Adjacent free pieces are merged. When the last block is freed,
// all memory goes back to the system.
class LargeMemory {
 public:
  static constexpr std::size_t kMinSize = std::size_t{64} << 10;  // below this size malloc is as good

  // The process's own instance, which is never destroyed.
  static LargeMemory& shared();

  LargeMemory() = default;
  LargeMemory(const LargeMemory&) = delete;
  LargeMemory& operator=(const LargeMemory&) = delete;
  ~LargeMemory();

  // Returns `bytes` bytes, aligned to 64, with any content. Throws std::bad_alloc.
  std::byte* take(std::size_t bytes);
  // Frees what take(bytes) returned.
  void give_back(std::byte* begin, std::size_t bytes);

  std::size_t mapped() const;  // bytes taken from the system

 private:
  void add_region(std::size_t size);
  void add_free(std::byte* begin, std::size_t size);
  void remove_free(std::map<std::byte*, std::size_t>::iterator piece);
  void unmap_all();

  mutable std::mutex mutex_;
  std::map<std::byte*, std::size_t> free_;                     // by place
  std::set<std::pair<std::size_t, std::byte*>> free_by_size_;  // the same
  std::vector<std::pair<std::byte*, std::size_t>> regions_;
  std::size_t in_use_ = 0;
};

}  // namespace attend
