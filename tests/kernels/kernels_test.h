// Every instruction set of this machine, against simple definitions in double precision.
#pragma once

#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace attend::kernels {

// The sets of this processor's family, for the float and the integer kernels.
#ifdef __aarch64__
inline constexpr const char* instruction_sets[] = {"portable"};
inline constexpr const char* int8_sets[] = {"portable", "neon_dot"};
#else
inline constexpr const char* instruction_sets[] = {"portable", "avx2", "avx512", "avx512_bf16"};
inline constexpr const char* int8_sets[] = {"portable", "avx2", "avx_vnni", "avx512_vnni"};
#endif

inline constexpr Activation kActivations[] = {
    Activation::none,         Activation::relu,         Activation::gelu,       Activation::gelu_tanh,
    Activation::silu,         Activation::tanh,         Activation::sigmoid,    Activation::mish,
    Activation::quick_gelu,   Activation::clipped_gelu, Activation::leaky_relu, Activation::relu6,
    Activation::squared_relu, Activation::laplace};

inline std::vector<float> random_numbers(std::size_t count, unsigned seed, float size = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, size);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = normal(generator);
  return numbers;
}

// Numbers that are the same on every machine; those of a std distribution may differ.
inline std::vector<float> plain_numbers(std::size_t count, std::uint32_t state) {
  std::vector<float> numbers(count);
  for (float& x : numbers) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<std::int32_t>(state >> 8) - (1 << 23)) / (1 << 22);
  }
  return numbers;
}

// FNV-1a over all bits.
inline std::uint64_t hash_of(const std::vector<float>& numbers) {
  std::uint64_t hash = 14695981039346656037u;
  for (const float number : numbers) {
    std::uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    for (int i = 0; i < 4; ++i) hash = (hash ^ (bits >> 8 * i & 255)) * 1099511628211u;
  }
  return hash;
}

// The largest difference relative to the largest value.
inline double difference(const std::vector<float>& found, const std::vector<double>& expected) {
  double most = 0, largest = 1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    most = std::max(most, std::isnan(found[i]) ? INFINITY : std::abs(found[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return most / largest;
}

class KernelsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kernels_ = find_kernels(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  const Kernels* kernels_ = nullptr;
};

}  // namespace attend::kernels
