#include "generation/config/watermark.h"

#include "tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace attend {
namespace {

// Like Python's Generator.manual_seed: any 64 bits.
Generator generator(std::uint64_t seed) {
  return ops::detail::createCPUGenerator(seed);
}

std::vector<std::int64_t> permutation(std::int64_t size, std::uint64_t seed) {
  const Tensor numbers = ops::randperm(size, generator(seed), kLong);
  const auto* begin = numbers.const_data<std::int64_t>();
  return {begin, begin + size};
}

// number % (2^64 - 1) with Python's integers, which do not overflow and have the sign of the divisor.
__extension__ using Wide = __int128;
std::uint64_t as_seed(Wide number) {
  const Wide divisor = std::numeric_limits<std::uint64_t>::max();
  const Wide rest = number % divisor;
  return static_cast<std::uint64_t>(rest < 0 ? rest + divisor : rest);
}

// With torch's integers, which overflow.
std::int64_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Never negative, like Python's.
std::size_t remainder(std::int64_t number, std::int64_t divisor) {
  const std::int64_t rest = number % divisor;
  return static_cast<std::size_t>(rest < 0 ? rest + divisor : rest);
}

// newlib's linear congruential generator.
std::int64_t hashed(std::int64_t hash, std::int64_t number) {
  const std::uint64_t sum = static_cast<std::uint64_t>(hash) + static_cast<std::uint64_t>(number);
  return static_cast<std::int64_t>(sum * 6364136223846793005U + 1);
}

void put_significance(WatermarkCount& count, double chances, double expected) {
  count.expected = expected;
  if (chances == 0) return;
  count.share = count.marks / chances;
  count.z = (count.marks - expected * chances) / std::sqrt(chances * expected * (1 - expected));
  count.p = std::erfc(count.z / std::sqrt(2.0)) / 2;
}

// Counts like the original's WatermarkDetector.
WatermarkCount count_green(const GreenListWatermark& watermark, std::int64_t vocabulary,
                           std::span<const std::int64_t> ids) {
  const GreenLists lists(watermark);
  const auto width = static_cast<std::size_t>(watermark.context_width);
  const std::size_t first = watermark.by_candidate ? width - 1 : width;
  WatermarkCount count;
  for (std::size_t i = first; i < ids.size(); ++i) {
    const std::vector<std::int64_t> green =
        lists.at(ids.first(i + (watermark.by_candidate ? 1 : 0)), vocabulary);
    ++count.tokens;
    count.marks += std::ranges::find(green, ids[i]) == green.end() ? 0 : 1;
  }
  put_significance(count, static_cast<double>(count.tokens), watermark.ratio);
  return count;
}

// The mean of the bits, without positions whose context has occurred before.
WatermarkCount count_ones(const SynthIdWatermark& watermark, std::span<const std::int64_t> ids) {
  const SynthIdBits synth_id(watermark);
  const auto before = static_cast<std::size_t>(watermark.ngram_length - 1);
  std::vector<float> bits(watermark.keys.size());
  std::set<std::int64_t> contexts;
  WatermarkCount count;
  for (std::size_t i = before; i < ids.size(); ++i) {
    const std::int64_t context = synth_id.hash(ids.subspan(i - before, before));
    if (!contexts.insert(context).second) continue;
    synth_id.bits(context, ids[i], bits);
    ++count.tokens;
    for (const float bit : bits) count.marks += bit;
  }
  put_significance(count, static_cast<double>(count.tokens) * static_cast<double>(bits.size()), 0.5);
  return count;
}

}  // namespace

GreenLists::GreenLists(const GreenListWatermark& watermark) : watermark_(watermark) {
  constexpr std::int64_t kTableSize = 1'000'003;
  if (watermark.by_candidate) table_ = permutation(kTableSize, static_cast<std::uint64_t>(watermark.key));
}

std::vector<std::int64_t> GreenLists::at(std::span<const std::int64_t> tokens,
                                         std::int64_t vocabulary) const {
  Wide seed = Wide{watermark_.key} * tokens.back();
  if (watermark_.by_candidate) {
    const auto entry = [&](std::int64_t token) { return table_[remainder(token, std::ssize(table_))] + 1; };
    const auto width = std::min(static_cast<std::size_t>(watermark_.context_width), tokens.size());
    std::int64_t min = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t token : tokens.last(width))
      min = std::min(min, product(product(watermark_.key, entry(token)), entry(tokens.back())));
    seed = min;
  }
  std::vector<std::int64_t> green = permutation(vocabulary, as_seed(seed));
  green.resize(static_cast<std::size_t>(static_cast<double>(vocabulary) * watermark_.ratio));
  return green;
}

SynthIdBits::SynthIdBits(const SynthIdWatermark& watermark) : keys_(watermark.keys) {
  const Tensor table = ops::randint(0, 2, {watermark.table_size},
                                    generator(static_cast<std::uint64_t>(watermark.table_seed)), kLong)
                           .to(kFloat);
  table_.assign(table.const_data<float>(), table.const_data<float>() + table.numel());
}

std::int64_t SynthIdBits::hash(std::span<const std::int64_t> context) const {
  std::int64_t hash = 1;
  for (const std::int64_t token : context) hash = hashed(hash, token);
  return hash;
}

void SynthIdBits::bits(std::int64_t context_hash, std::int64_t token, std::span<float> bits) const {
  const std::int64_t ngram = hashed(context_hash, token);
  for (std::size_t round = 0; round < keys_.size(); ++round)
    bits[round] = table_[remainder(hashed(ngram, keys_[round]), std::ssize(table_))];
}

WatermarkCount count_marks(const Watermark& watermark, std::int64_t vocabulary,
                           std::span<const std::int64_t> ids) {
  if (const auto* green = std::get_if<GreenListWatermark>(&watermark))
    return count_green(*green, vocabulary, ids);
  return count_ones(std::get<SynthIdWatermark>(watermark), ids);
}

}  // namespace attend
