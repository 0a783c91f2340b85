// Functions by a device's own kernels.
#include "tensor/device.h"
#include "tensor/ops.h"
#include "tensor/tape.h"

namespace attend::ops {

Tensor fused(const FusedFunction& function, const Dimensions& sizes, std::vector<Tensor> inputs,
             const Tensor& mask) {
  Device* device = nullptr;
  for (const Tensor& input : inputs)
    if (input.device() != nullptr) device = input.device();
  if (device == nullptr) fail("a device's own kernel: the tensors are in the program's memory");
  bool learns = false;
  std::vector<Array> arrays;
  for (Tensor& input : inputs) {
    input = input.on(device);
    arrays.push_back(array_of(input));
    learns = learns || tracked(input);
  }
  Tensor result, placed;
  std::shared_ptr<void> kept;
  {
    const Unrecorded unrecorded;
    result = empty(sizes, inputs.front().type(), device);
    if (mask.defined()) arrays.push_back(array_of(placed = placed_on(*device, mask)));
    kept = device->fused(function, array_of(result), arrays, learns);
  }
  if (!learns) return result;
  // The inputs stay as they are, because the gradient reads them again.
  std::vector<Saved> saved(inputs.begin(), inputs.end());
  record(result, inputs, [device, kept, placed, saved = std::move(saved)](const Tensor& gradient) {
    std::vector<Tensor> gradients;
    std::vector<Array> to;
    for (const Saved& input : saved) to.push_back(array_of(gradients.emplace_back(empty_like(input()))));
    device->fused_gradient(kept.get(), to, array_of(placed_on(*device, gradient)));
    return gradients;
  });
  return result;
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& seen, bool causal,
                 double scale) {
  return fused({Fused::attention, scale, causal}, {q.size(0), q.size(1), q.size(2), v.size(3)}, {q, k, v},
               seen);
}

}  // namespace attend::ops
