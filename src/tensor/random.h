// Dropout masks, and torch's random numbers: watermarks need exactly these, and initialized weights use them
// too.
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

// The dropout mask of rows of n elements: 1 / (1 - rate) if kept, else 0. Row i is that of the elements from
// first[i] of the stream `seed`, whatever computes it; no row goes beyond a multiple of 2^32. Float [..., n],
// for `first` [..., 1] int64.
Tensor dropout_mask(const Tensor& first, std::int64_t n, double rate, std::uint64_t seed, Device* device);

Tensor randperm(std::int64_t count, Generator generator, ScalarType type);
Tensor randint(std::int64_t min, std::int64_t end, const Dimensions& shape, Generator generator,
               ScalarType type);

}  // namespace attend::ops
