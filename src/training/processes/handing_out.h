// Sends tensors of one process to all.
#pragma once

#include "parallel/ranks.h"
#include "tensor/tensor.h"

namespace attend {

// Some tensors on their way, together. All processes pass tensors of the same sizes and types, and each
// gives its messages the same order.
class Message {
 public:
  // Begins to send the values of process `root`; what the others hold is overwritten.
  Message(Ranks& ranks, std::span<const Tensor> tensors, std::int64_t root);
  ~Message();
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  void finish();  // waits until they are here

 private:
  std::vector<Tensor> tensors_;
  struct Memory {
    std::vector<Tensor> whole;      // the tensors, contiguous in the program's memory
    std::vector<std::byte> packed;  // of several tensors
  };
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Ranks::Work> work_;
  bool receives_;
};

// Parts of the list that are sent together: one tensor, or several of a few megabytes together.
std::vector<std::span<const Tensor>> messages_of(std::span<const Tensor> tensors);

// Sends all, message by message.
void hand_out(Ranks& ranks, std::span<const Tensor> tensors, std::int64_t root = 0);

// Which of `ranks` processes keeps which of these sizes, so that all have about the same total: the largest
// first, each to the process with the smallest total. Depends only on the sizes.
std::vector<std::int64_t> share_out(std::span<const std::int64_t> sizes, std::int64_t ranks);

}  // namespace attend
