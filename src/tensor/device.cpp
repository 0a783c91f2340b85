#include "tensor/device.h"

#include "tensor/ops.h"
#include "tensor/tape.h"

#include <cstring>
#include <mutex>

namespace attend::ops {

Array array_of(const Tensor& x) {
  return {x.body().data.get(), x.type(), x.sizes(), x.strides(), x.device() == nullptr};
}

Device* common_device(std::initializer_list<const Tensor*> tensors) {
  Device* found = nullptr;
  for (const Tensor* tensor : tensors) {
    Device* const device = tensor->defined() ? tensor->device() : nullptr;
    if (device == nullptr || device == found) continue;
    if (found != nullptr)
      fail("an operation needs tensors of one device, found {} and {}", found->name(), device->name());
    found = device;
  }
  return found;
}

Tensor placed_on(Device& device, const Tensor& x) {
  if (x.device() == &device) return x;
  const Unrecorded unrecorded;
  return x.on(&device);
}

Tensor operand_on(Device& device, const Tensor& x) {
  return x.device() == nullptr && x.dim() == 0 ? x : placed_on(device, x);
}

Tensor Tensor::on(Device* where) const {
  if (device() == where) return *this;
  return with_rule(
      [&] {
        const Tensor made = empty(sizes(), type(), where);
        if (numel() > 0) (where ? where : device())->copy(array_of(made), array_of(*this));
        return made;
      },
      [from = device()](const Tensor&) {
        return [from](const Tensor& g) { return std::vector<Tensor>{g.on(from)}; };
      },
      *this);
}

// The elements of a device's tensor, copied to the program's memory with the same strides.
struct HomeCopy {
  std::shared_ptr<std::byte> data;
  std::uint32_t version = 0;
};

const void* Tensor::read_at_home() const {
  static std::mutex copying;
  const std::lock_guard lock(copying);
  Body& own = body();
  if (own.home_copy && own.home_copy->version == version()) return own.home_copy->data.get();
  std::int64_t span = numel() > 0 ? 1 : 0;  // elements from the first to the last
  for (std::size_t d = 0; d < own.sizes.size() && span > 0; ++d) span += (own.sizes[d] - 1) * own.strides[d];
  const Unrecorded unrecorded;
  const Tensor copied = empty({span}, type());
  if (span > 0)
    device()->copy(array_of(copied),
                   {own.data.get(), type(), Dimensions(span), Dimensions(std::int64_t{1}), false});
  own.home_copy = std::make_shared<HomeCopy>(HomeCopy{copied.body().data, version()});
  return own.home_copy->data.get();
}

void Tensor::check_home() const {
  if (device() != nullptr)
    fail("a tensor in the program's memory was expected, found one on {}", device()->name());
}

}  // namespace attend::ops
