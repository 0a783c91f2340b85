// Every instruction set this machine has, against the plain definitions in double precision.
#pragma once

#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace attend::kernels {

inline constexpr const char* instruction_sets[] = {"portable", "avx2", "avx512", "avx512_bf16"};

inline std::vector<float> random_numbers(std::size_t count, unsigned seed, float size = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, size);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = normal(generator);
  return numbers;
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
