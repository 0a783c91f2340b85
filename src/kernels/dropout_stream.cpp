#include "kernels/dropout_stream.h"

#include "base/random.h"

namespace attend::kernels {

DropoutStream dropout_stream(float p, std::uint64_t seed) {
  const std::uint64_t key = mix64(seed + kRandomStep);
  return {.threshold = static_cast<std::uint32_t>(p * 4294967295.0),
          .key_low = static_cast<std::uint32_t>(key),
          .key_high = static_cast<std::uint32_t>(key >> 32),
          .kept = 1 / (1 - p)};
}

}  // namespace attend::kernels
