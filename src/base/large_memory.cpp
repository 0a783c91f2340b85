#include "base/large_memory.h"

#include "base/huge_pages.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <new>

namespace attend {
namespace {

constexpr std::size_t kLine = 64, kRegion = std::size_t{64} << 20;

// Whole cache lines, plus one. Otherwise all tensors whose size is a power of two would begin at the same
// offset of a page, and loads would wait for unrelated stores with the same low address bits.
std::size_t block_size(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 4) throw std::bad_alloc();
  return (bytes + kLine - 1) / kLine * kLine + kLine;
}

}  // namespace

LargeMemory& LargeMemory::shared() {
  static LargeMemory& memory = *new LargeMemory;  // tensors may outlive static objects
  return memory;
}

LargeMemory::~LargeMemory() {
  unmap_all();
}

std::byte* LargeMemory::take(std::size_t bytes) {
  const std::size_t size = block_size(bytes);
  const std::lock_guard lock(mutex_);
  auto found = free_by_size_.lower_bound({size, nullptr});
  if (found == free_by_size_.end()) {
    add_region(size);
    found = free_by_size_.lower_bound({size, nullptr});
  }
  const auto [whole, begin] = *found;
  remove_free(free_.find(begin));
  if (whole > size) add_free(begin + size, whole - size);
  in_use_ += size;
  return begin;
}

void LargeMemory::give_back(std::byte* begin, std::size_t bytes) {
  std::size_t size = block_size(bytes);
  const std::lock_guard lock(mutex_);
  in_use_ -= size;
  if (in_use_ == 0) return unmap_all();
  if (const auto next = free_.find(begin + size); next != free_.end()) {
    size += next->second;
    remove_free(next);
  }
  const auto after = free_.lower_bound(begin);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      size += before->second;
      remove_free(before);
    }
  }
  add_free(begin, size);
}

std::size_t LargeMemory::mapped() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [begin, size] : regions_) sum += size;
  return sum;
}

// If memory is too short for a whole region, allocate one for this block alone.
void LargeMemory::add_region(std::size_t size) {
  const std::size_t min = (size + kHugePage - 1) / kHugePage * kHugePage;
  std::size_t region = std::max(min, kRegion);
  std::byte* begin = map_huge_pages(region);
  if (begin == nullptr && region > min) begin = map_huge_pages(region = min);
  if (begin == nullptr) throw std::bad_alloc();
  regions_.emplace_back(begin, region);
  add_free(begin, region);
}

void LargeMemory::add_free(std::byte* begin, std::size_t size) {
  free_.emplace(begin, size);
  free_by_size_.emplace(size, begin);
}

void LargeMemory::remove_free(std::map<std::byte*, std::size_t>::iterator piece) {
  free_by_size_.erase({piece->second, piece->first});
  free_.erase(piece);
}

void LargeMemory::unmap_all() {
  for (const auto& [begin, size] : regions_) ::munmap(begin, size);
  regions_.clear();
  free_.clear();
  free_by_size_.clear();
}

}  // namespace attend
