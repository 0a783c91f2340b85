// Who hears of gradients as they arrive, before backward() has ended.
#pragma once

#include <functional>

namespace attend::ops {

// While it lives, backward() on this thread tells `arrived` of each leaf (Tensor::identity()) once its
// gradient of that pass is complete. One at a time.
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
