#include "training/processes/handing_out.h"

#include <algorithm>
#include <numeric>

namespace attend {
namespace {

constexpr std::int64_t kMessage = 8 << 20;  // bytes

std::span<std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

}  // namespace

Message::Message(Ranks& ranks, std::span<const Tensor> tensors, std::int64_t root)
    : tensors_(tensors.begin(), tensors.end()),
      memory_(std::make_unique<Memory>()),
      receives_(ranks.rank() != root) {
  const Unrecorded no_grad;
  std::size_t size = 0;
  for (const Tensor& tensor : tensors_) {
    memory_->whole.push_back(tensor.detach().home().contiguous());
    size += bytes_of(memory_->whole.back()).size();
  }
  if (size == 0) return;
  std::span<std::byte> bytes = bytes_of(memory_->whole.front());
  if (tensors_.size() > 1) {
    std::vector<std::byte>& packed = memory_->packed;
    packed.reserve(size);
    if (receives_) packed.resize(size);
    for (const Tensor& tensor : memory_->whole)
      if (const auto own = bytes_of(tensor); !receives_) packed.insert(packed.end(), own.begin(), own.end());
    bytes = packed;
  }
  work_ = ranks.begin_broadcast(bytes, root);
}

Message::~Message() {
  // If a process was lost, the engine may still write to this memory.
  if (work_ != nullptr) static_cast<void>(memory_.release());
}

void Message::finish() {
  if (work_ != nullptr) work_->wait();
  work_ = nullptr;
  if (!receives_) return;
  const Unrecorded no_grad;
  const std::byte* from = memory_->packed.data();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor &tensor = tensors_[i], &whole = memory_->whole[i];
    if (tensors_.size() > 1) {
      const auto bytes = bytes_of(whole);
      std::copy_n(from, bytes.size(), bytes.begin());
      from += bytes.size();
    }
    if (tensor.device() != nullptr || !tensor.is_contiguous()) tensor.detach().copy_(whole);
    // May be written through pointers: packed copies must be updated.
    tensor.bump_version();
  }
}

std::vector<std::span<const Tensor>> messages_of(std::span<const Tensor> tensors) {
  std::vector<std::span<const Tensor>> messages;
  for (std::size_t begin = 0, end = 0; begin < tensors.size(); begin = end) {
    std::int64_t size = 0;
    for (end = begin; end < tensors.size() && (end == begin || size + tensors[end].bytes() <= kMessage);
         ++end)
      size += tensors[end].bytes();
    messages.push_back(tensors.subspan(begin, end - begin));
  }
  return messages;
}

void hand_out(Ranks& ranks, std::span<const Tensor> tensors, std::int64_t root) {
  if (ranks.alone()) return;
  for (const std::span<const Tensor> message : messages_of(tensors)) Message(ranks, message, root).finish();
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
