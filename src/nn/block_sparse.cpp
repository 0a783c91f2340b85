#include "nn/block_sparse.h"

#include <numeric>

namespace attend {

std::vector<std::vector<std::int64_t>> block_plan(std::int64_t blocks, std::int64_t random_blocks) {
  std::vector<std::vector<std::int64_t>> plan(static_cast<std::size_t>(blocks));
  for (std::int64_t q = 0; q < blocks; ++q) {
    std::vector<std::int64_t>& seen = plan[static_cast<std::size_t>(q)];
    if (q == 0 || q + 1 == blocks) {
      seen.resize(static_cast<std::size_t>(blocks));
      std::iota(seen.begin(), seen.end(), 0);
      continue;
    }
    seen = {0};
    for (std::int64_t k = std::max<std::int64_t>(1, q - 1); k <= std::min(q + 1, blocks - 2); ++k)
      seen.push_back(k);
    seen.push_back(blocks - 1);
    seen.insert(seen.end(), static_cast<std::size_t>(random_blocks), 0);
  }
  return plan;
}

namespace {

// Every block of queries as a sequence of its own, with the rows of its keys.
struct Blocks {
  std::vector<std::int64_t> query_lengths, key_lengths, key_rows;

  void add(std::int64_t begin, std::int64_t length, const BlockSparse& spec) {
    const std::int64_t count = (length + spec.size - 1) / spec.size;
    const auto size_of = [&](std::int64_t block) { return std::min(spec.size, length - block * spec.size); };
    if (count <= 5 + 2 * spec.random) {
      query_lengths.push_back(length);
      append(begin, length);
      key_lengths.push_back(length);
      return;
    }
    const auto plan = block_plan(count, spec.random);
    for (std::int64_t q = 0; q < count; ++q) {
      const std::size_t before = key_rows.size();
      for (const std::int64_t k : plan[static_cast<std::size_t>(q)])
        append(begin + k * spec.size, size_of(k));
      query_lengths.push_back(size_of(q));
      key_lengths.push_back(static_cast<std::int64_t>(key_rows.size() - before));
    }
  }

 private:
  void append(std::int64_t first, std::int64_t count) {
    const std::size_t before = key_rows.size();
    key_rows.resize(before + static_cast<std::size_t>(count));
    std::iota(key_rows.begin() + static_cast<std::ptrdiff_t>(before), key_rows.end(), first);
  }
};

// The weights of blocks [heads, Lq, keys] as those of their sequences [heads, L, L]; where a block of keys
// counts several times, the weight of one of them, as the original shows it.
std::vector<Tensor> spread(const std::vector<Tensor>& of_blocks, const Offsets& offsets,
                           const Offsets& queries, const Offsets& keys, const Tensor& key_rows) {
  std::vector<Tensor> weights;
  std::int64_t block = 0;
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    const std::int64_t L = offsets.length(b), end = offsets.begin(b) + L;
    Tensor whole = at::zeros({of_blocks.front().size(0), L, L}, of_blocks.front().options());
    for (; block < queries.count() && queries.begin(block) < end; ++block) {
      const Tensor columns = keys.part(key_rows, block) - offsets.begin(b);
      Tensor rows = whole.narrow(1, queries.begin(block) - offsets.begin(b), queries.length(block));
      rows.index_copy_(2, columns, of_blocks[static_cast<std::size_t>(block)]);
    }
    weights.push_back(whole);
  }
  return weights;
}

}  // namespace

Tensor block_sparse_attention(const Tensor& packed, const Offsets& offsets, const BlockSparse& spec,
                              const AttentionCall& call) {
  Blocks blocks;
  for (std::int64_t b = 0; b < offsets.count(); ++b) blocks.add(offsets.begin(b), offsets.length(b), spec);
  if (static_cast<std::int64_t>(blocks.query_lengths.size()) == offsets.count())
    return self_attention(packed, offsets, nullptr, call);
  const std::int64_t w = call.spec.heads * call.spec.head_size;
  const Offsets queries(blocks.query_lengths), keys(blocks.key_lengths);
  const Tensor key_rows = torch::tensor(blocks.key_rows, at::kLong).to(packed.device());
  const Tensor gathered = packed.narrow(1, w, 2 * w).index_select(0, key_rows);  // [keys, 2 w]
  const Tensor mixed = cross_attention(packed.narrow(1, 0, w).contiguous(), queries, gathered, keys, call);
  if (call.weights) *call.weights = spread(*call.weights, offsets, queries, keys, key_rows);
  return mixed;
}

}  // namespace attend
