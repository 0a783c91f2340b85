// Random numbers that follow from a seed and a place (an epoch, a step), so that nothing needs saving.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace attend {

// SplitMix64 (Steele et al. 2014): states are kRandomStep apart, and mix64 makes random bits of one.
constexpr std::uint64_t kRandomStep = 0x9e3779b97f4a7c15u;
constexpr std::uint64_t mix64(std::uint64_t state) {
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed, std::int64_t place = 0)
      : state_(mix64(mix64(seed) ^ static_cast<std::uint64_t>(place))) {}

  std::uint64_t next() { return mix64(state_ += kRandomStep); }
  // In [0, count); 0 if count is 0. The bias for counts below 2^32 is under 2^-32.
  std::uint64_t below(std::uint64_t count) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * count) >> 64);
  }
  // In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  // The same on every machine, unlike std::shuffle.
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace attend
