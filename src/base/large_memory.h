// Memory for tensors: large blocks in huge pages, kept for the next one when a tensor is gone.
//
// A model computes by reading its weights from one end to the other again and again. In pages of 4 KiB the
// processor reads ahead only to the end of each and then asks where the next one lies: GPT-2 in 8 bits made a
// sixth fewer tokens a second, several texts a fifth. And what a step leaves is wanted by the next one: given
// back to the system, it would be cleared first.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace attend {

// Blocks are cut from regions of 64 MiB, or as large as one block that is larger: the smallest free piece
// that is large enough, the lowest of these. Pieces that are free side by side are one. When no block is
// left, all memory goes back to the system.
class LargeMemory {
 public:
  static constexpr std::size_t kLeast = std::size_t{64} << 10;  // below this malloc does as well

  // The process's own, which is never destroyed.
  static LargeMemory& shared();

  LargeMemory() = default;
  LargeMemory(const LargeMemory&) = delete;
  LargeMemory& operator=(const LargeMemory&) = delete;
  ~LargeMemory();

  // `bytes` bytes that begin at a multiple of 64; of any content. Throws std::bad_alloc.
  std::byte* take(std::size_t bytes);
  // What take(bytes) returned.
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
