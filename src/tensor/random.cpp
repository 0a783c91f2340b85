#include "tensor/random.h"

#include "kernels/kernels.h"
#include "tensor/device.h"
#include "tensor/ops.h"

#include <cmath>
#include <numbers>

namespace attend::ops {

Tensor dropout_mask(const Tensor& first, std::int64_t n, double rate, std::uint64_t seed, Device* device) {
  Dimensions sizes = first.sizes();
  sizes[sizes.size() - 1] = n;
  const Tensor mask = empty(sizes, kFloat, device);
  const auto p = static_cast<float>(rate);
  if (device != nullptr) {
    device->dropout_mask(array_of(mask), array_of(placed_on(*device, first)),
                         kernels::dropout_stream(p, seed));
    return mask;
  }
  const auto* const begin = first.const_data<std::int64_t>();
  for (std::int64_t i = 0; i < first.numel(); ++i)
    kernels::kernels().dropout_mask(mask.data<float>() + i * n, static_cast<std::uint64_t>(begin[i]), n, p,
                                    seed);
  return mask;
}

Tensor randperm(std::int64_t count, Generator generator, ScalarType type) {
  const Tensor made = arange(count);
  auto* const numbers = made.data<std::int64_t>();
  for (std::int64_t i = 0; i + 1 < count; ++i)
    std::swap(
        numbers[i],
        numbers[i + static_cast<std::int64_t>(generator.random() % static_cast<std::uint64_t>(count - i))]);
  return made.to(type);
}

Tensor randint(std::int64_t min, std::int64_t end, const Dimensions& shape, Generator generator,
               ScalarType type) {
  const Tensor made = empty(shape, kLong);
  for (std::int64_t i = 0; i < made.numel(); ++i)
    made.data<std::int64_t>()[i] =
        min + static_cast<std::int64_t>(generator.random() % static_cast<std::uint64_t>(end - min));
  return made.to(type);
}

namespace {

// From the last 24 bits of the generator's output, as in torch.
float uniform_float(Generator& generator) {
  return static_cast<float>(generator.random() & 0xffffff) * 0x1p-24f;
}
double uniform_double(Generator& generator) {
  const std::uint64_t high = generator.random(), low = generator.random();
  return static_cast<double>(((high << 32) | low) & 0x1fffffffffffff) * 0x1p-53;
}

// Turns sixteen uniform numbers into normal ones (Box & Muller 1958); elements i and i + 8 make two.
void make_normal(float* x, double mean, double deviation) {
  for (int i = 0; i < 8; ++i) {
    const float radius = std::sqrt(-2 * std::log(1 - x[i])), angle = 6.2831853f * x[i + 8];
    x[i] = static_cast<float>(radius * std::cos(angle) * deviation + mean);
    x[i + 8] = static_cast<float>(radius * std::sin(angle) * deviation + mean);
  }
}

// Fills a floating-point tensor with random numbers through contiguous memory.
template <class Draw>
const Tensor& drawn(const Tensor& x, const Draw& draw) {
  const Tensor made = empty(x.sizes(), kFloat);
  draw(made.data<float>(), made.numel());
  return x.copy_(made);
}

}  // namespace

// The same numbers as torch, except for the last bits of log, sin and cos.
const Tensor& Tensor::normal_(double mean, double deviation, Generator generator) const {
  return drawn(*this, [&](float* to, std::int64_t count) {
    if (count >= 16) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = uniform_float(generator);
      for (std::int64_t i = 0; i + 16 <= count; i += 16) make_normal(to + i, mean, deviation);
      if (count % 16 == 0) return;
      float* const last = to + count - 16;
      for (int i = 0; i < 16; ++i) last[i] = uniform_float(generator);
      make_normal(last, mean, deviation);
      return;
    }
    for (std::int64_t i = 0; i < count; i += 2) {
      const double angle = 2 * std::numbers::pi * uniform_double(generator);
      const double radius = std::sqrt(-2 * std::log1p(-uniform_double(generator)));
      to[i] = static_cast<float>(radius * std::cos(angle) * deviation + mean);
      if (i + 1 < count) to[i + 1] = static_cast<float>(radius * std::sin(angle) * deviation + mean);
    }
  });
}

const Tensor& Tensor::uniform_(double from, double to, Generator generator) const {
  return drawn(*this, [&](float* numbers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      numbers[i] = static_cast<float>(uniform_float(generator) * (to - from) + from);
  });
}

}  // namespace attend::ops
