// torch's random numbers, for watermarks, which must be those of others, and for weights that are drawn.
#pragma once

#include "tensor/handle.h"

namespace attend::ops {

struct CPUGeneratorImpl;
template <class T>
Generator make_generator(std::uint64_t seed) {
  return Generator(seed);
}
namespace detail {
inline Generator createCPUGenerator(std::uint64_t seed) {
  return Generator(seed);
}
}  // namespace detail

Tensor randperm(std::int64_t count, Generator generator, const TensorOptions& options);
Tensor randint(std::int64_t least, std::int64_t end, Dimensions shape, Generator generator,
               const TensorOptions& options);

}  // namespace attend::ops
