// Attention by a device's own kernel.
#include "tensor/device.h"
#include "tensor/ops.h"
#include "tensor/tape.h"

namespace attend::ops {

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& seen, bool causal,
                 double scale) {
  Device* const device = device_of(q, k, v);
  if (device == nullptr) fail("attention by a device's kernel: the tensors are in the program's memory");
  const bool learns = tracked(q, k, v);
  std::shared_ptr<void> kept;
  const auto compute = [&] {
    const Tensor result = empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q.type(), device);
    const Tensor placed = seen.defined() ? placed_on(*device, seen) : Tensor();
    const Array mask = placed.defined() ? array_of(placed) : Array();
    kept = device->attention(
        array_of(result),
        {array_of(q), array_of(k), array_of(v), placed.defined() ? &mask : nullptr, causal, scale}, learns);
    return result;
  };
  const auto make_rule = [&](const Tensor&) {
    return [device, kept, q = Saved(q), k = Saved(k), v = Saved(v)](const Tensor& gradient) {
      const std::vector<Tensor> gradients{empty_like(q()), empty_like(k()), empty_like(v())};
      device->attention_gradient(kept.get(), array_of(gradients[0]), array_of(gradients[1]),
                                 array_of(gradients[2]), array_of(placed_on(*device, gradient)));
      return gradients;
    };
  };
  return with_rule(compute, make_rule, q, k, v);
}

}  // namespace attend::ops
