#include "kernels/dropout_stream.h"

namespace attend::kernels {

DropoutStream dropout_stream(float p, std::uint64_t seed) {
  std::uint64_t key = seed + 0x9e3779b97f4a7c15u;  // splitmix64
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
  key ^= key >> 31;
  return {.threshold = static_cast<std::uint32_t>(p * 4294967295.0),
          .key_low = static_cast<std::uint32_t>(key),
          .key_high = static_cast<std::uint32_t>(key >> 32),
          .kept = 1 / (1 - p)};
}

}  // namespace attend::kernels
