#include "training/processes/handing_out.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace attend {

std::span<std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

namespace {

constexpr std::size_t kMessage = 8 << 20;

// Sends small tensors in one message.
void hand_out_together(Ranks& ranks, std::span<const Tensor> tensors, std::int64_t root) {
  std::vector<std::byte> message;
  if (ranks.rank() == root) {
    for (const Tensor& tensor : tensors) {
      const auto bytes = bytes_of(tensor);
      message.insert(message.end(), bytes.begin(), bytes.end());
    }
  } else {
    std::size_t size = 0;
    for (const Tensor& tensor : tensors) size += bytes_of(tensor).size();
    message.resize(size);
  }
  ranks.broadcast(message, root);
  if (ranks.rank() == root) return;
  const std::byte* from = message.data();
  for (const Tensor& tensor : tensors) {
    const auto bytes = bytes_of(tensor);
    std::memcpy(bytes.data(), from, bytes.size());
    from += bytes.size();
  }
}

}  // namespace

void hand_out(Ranks& ranks, std::span<const Tensor> tensors, std::int64_t root) {
  if (ranks.alone()) return;
  const Unrecorded no_grad;
  std::vector<Tensor> whole;  // contiguous in the program's memory
  for (const Tensor& tensor : tensors) whole.push_back(tensor.detach().home().contiguous());
  for (std::size_t begin = 0, end = 0; begin < whole.size(); begin = end) {
    std::size_t size = 0;
    for (end = begin; end < whole.size() && (end == begin || size + bytes_of(whole[end]).size() <= kMessage);
         ++end)
      size += bytes_of(whole[end]).size();
    if (end == begin + 1)
      ranks.broadcast(bytes_of(whole[begin]), root);
    else
      hand_out_together(ranks, std::span(whole).subspan(begin, end - begin), root);
  }
  if (ranks.rank() == root) return;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (tensors[i].device() != nullptr || !tensors[i].is_contiguous()) tensors[i].detach().copy_(whole[i]);
    // May be written through pointers: packed copies must be updated.
    tensors[i].bump_version();
  }
}

std::vector<std::int64_t> share_out(std::span<const std::int64_t> sizes, std::int64_t ranks) {
  std::vector<std::size_t> largest_first(sizes.size());
  std::iota(largest_first.begin(), largest_first.end(), 0);
  std::ranges::stable_sort(largest_first, [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  std::vector<std::int64_t> filled(static_cast<std::size_t>(ranks)), owners(sizes.size());
  for (const std::size_t i : largest_first) {
    const auto emptiest = std::ranges::min_element(filled);
    *emptiest += sizes[i];
    owners[i] = emptiest - filled.begin();
  }
  return owners;
}

}  // namespace attend
