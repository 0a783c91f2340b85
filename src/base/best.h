// The k best of many, in the same order as torch.topk.
#pragma once

#include <algorithm>
#include <vector>

namespace attend {

// Keeps the k best of the queue, best first; `among` is the number of candidates it holds. torch.topk on the
// CPU (ATen/native/TopKImpl.h) uses these standard algorithms, which decide which of several equal values are
// taken, and in which order.
template <class T, class Better>
void keep_best(std::vector<T>& queue, std::size_t k, std::size_t among, Better better) {
  const auto middle = queue.begin() + static_cast<std::ptrdiff_t>(k);
  if (k * 64 <= among) {
    std::partial_sort(queue.begin(), middle, queue.end(), better);
  } else {
    std::nth_element(queue.begin(), middle - 1, queue.end(), better);
    std::sort(queue.begin(), middle - 1, better);
  }
  queue.resize(k);
}

}  // namespace attend
