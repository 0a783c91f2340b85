#include "nn/attention/random_blocks.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace attend {
namespace {

using BlockNumbers = std::vector<std::int64_t>;

// numpy's RandomState: the Mersenne Twister, and Fisher-Yates permutations whose indices are drawn by masking
// bits until one is small enough.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::int64_t seed) : twister_(static_cast<std::uint32_t>(seed)) {}

  void shuffle(BlockNumbers& blocks) {
    for (std::size_t i = blocks.size(); i-- > 1;) std::swap(blocks[i], blocks[at_most(i)]);
  }

 private:
  std::size_t at_most(std::size_t max) {
    std::uint32_t mask = static_cast<std::uint32_t>(max);
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    std::uint32_t value = 0;
    do value = static_cast<std::uint32_t>(twister_()) & mask;
    while (value > max);
    return value;
  }

  std::mt19937 twister_;
};

// The numbers in [begin, end) except those in [hole, hole_end).
BlockNumbers range(std::int64_t begin, std::int64_t end, std::int64_t hole = 0, std::int64_t hole_end = 0) {
  BlockNumbers blocks;
  for (std::int64_t block = begin; block < end; ++block)
    if (block < hole || block >= hole_end) blocks.push_back(block);
  return blocks;
}

// Row q for most lengths: drawn from the first 5 + 2 random blocks, without neighbours and global blocks.
BlockNumbers draw_row(NumpyRandom& random, std::int64_t q, std::int64_t count) {
  const std::int64_t end = 5 + 2 * count;
  BlockNumbers order = range(0, end), row;
  random.shuffle(order);
  for (const std::int64_t block : order) {
    const bool global = block == 0 || block == end - 1, neighbour = block >= q - 1 && block <= q + 1;
    // The second row already sees the last but one as its own last, and vice versa.
    const bool edge = (q == 1 && block == end - 2) || (q == end - 2 && block == 1);
    if (!global && !neighbour && !edge && static_cast<std::int64_t>(row.size()) < count) row.push_back(block);
  }
  return row;
}

// Row q if a text is as long as those of the paper: `blocks` blocks, up to number `last`.
BlockNumbers draw_paper_row(NumpyRandom& random, std::int64_t q, std::int64_t blocks, std::int64_t last,
                            std::int64_t count) {
  // Slices of the blocks 1 to blocks - 2, as in the original.
  const auto slice = [&](std::int64_t begin, std::int64_t end, std::int64_t hole, std::int64_t hole_end) {
    const std::int64_t max = blocks - 2;
    return range(1 + std::min(begin, max), 1 + std::min(end, max), 1 + hole, 1 + hole_end);
  };
  BlockNumbers row;
  if (q == 1 || q == 2)
    row = slice(q + 1, last, 0, 0);
  else if (q >= blocks - 3 || q - 2 > last)
    row = slice(0, last, 0, 0);
  else if (q + 1 == last)
    row = slice(0, q - 2, 0, 0);
  else
    row = slice(0, last, q - 2, q + 1);
  random.shuffle(row);
  row.resize(std::min(row.size(), static_cast<std::size_t>(count)));
  return row;
}

}  // namespace

std::vector<std::vector<BlockNumbers>> draw_random_blocks(std::int64_t layer, std::int64_t heads,
                                                          std::int64_t blocks, const BlockSparse& spec) {
  NumpyRandom random(layer);
  std::vector<std::vector<BlockNumbers>> draws(static_cast<std::size_t>(heads));
  const std::int64_t length = blocks * spec.size;
  if (length == 1024 || length == 3072 || length == 4096) {
    const std::int64_t all = spec.longest / spec.size;
    const std::int64_t last = (1024 > 2 * spec.size ? 1024 / spec.size : all) - 1;
    for (std::vector<BlockNumbers>& head : draws) {
      for (std::int64_t q = 1; q < all - 1; ++q)
        head.push_back(draw_paper_row(random, q, all, last, spec.random));
      head.resize(static_cast<std::size_t>(blocks - 2));
    }
    return draws;
  }
  for (std::int64_t q = 1; q < blocks - 1; ++q)
    for (std::vector<BlockNumbers>& head : draws) head.push_back(draw_row(random, q, spec.random));
  return draws;
}

}  // namespace attend
