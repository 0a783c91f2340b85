// torch's random numbers. Watermarks need exactly these, and initialized weights use them too.
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

Tensor randperm(std::int64_t count, Generator generator, ScalarType type);
Tensor randint(std::int64_t min, std::int64_t end, const Dimensions& shape, Generator generator,
               ScalarType type);

}  // namespace attend::ops
