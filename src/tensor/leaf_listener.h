// Reports gradients as they become complete, before backward() has ended.
#pragma once

#include <functional>

namespace attend::ops {

// While a LeafListener exists, backward() on this thread calls `arrived` with each leaf (Tensor::identity())
// as soon as its gradient of that pass is complete. Only one may exist at a time.
class LeafListener {
 public:
  explicit LeafListener(std::function<void(const void* leaf)> arrived);
  ~LeafListener();
  LeafListener(const LeafListener&) = delete;
  LeafListener& operator=(const LeafListener&) = delete;

  static void tell(const void* leaf);

 private:
  std::function<void(const void*)> arrived_;
};

}  // namespace attend::ops

namespace attend {
using ops::LeafListener;
}
