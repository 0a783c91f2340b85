#include "nn/attention/block_sparse.h"

#include "nn/attention/random_blocks.h"

#include <map>
#include <numeric>

namespace attend {

std::vector<std::vector<std::int64_t>> block_plan(std::int64_t blocks,
                                                  const std::vector<std::vector<std::int64_t>>& random) {
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
    const std::vector<std::int64_t>& drawn = random[static_cast<std::size_t>(q - 1)];
    seen.insert(seen.end(), drawn.begin(), drawn.end());
  }
  return plan;
}

namespace {

bool is_sparse(std::int64_t length, const BlockSparse& spec) {
  return length > (5 + 2 * spec.random) * spec.size;
}

// The random blocks of each head, for each number of blocks.
class RandomBlocks {
 public:
  RandomBlocks(const BlockSparse& spec, std::int64_t heads, std::optional<std::int64_t> layer)
      : spec_(spec), heads_(heads), layer_(layer) {}

  const std::vector<std::vector<std::int64_t>>& of(std::int64_t head, std::int64_t blocks) {
    auto& drawn = drawn_[blocks];
    if (drawn.empty() && layer_) drawn = draw_random_blocks(*layer_, heads_, blocks, spec_);
    if (drawn.empty())
      drawn.assign(static_cast<std::size_t>(heads_),
                   std::vector(static_cast<std::size_t>(blocks - 2),
                               std::vector<std::int64_t>(static_cast<std::size_t>(spec_.random), 0)));
    return drawn[static_cast<std::size_t>(head)];
  }

 private:
  const BlockSparse& spec_;
  std::int64_t heads_;
  std::optional<std::int64_t> layer_;
  std::map<std::int64_t, std::vector<std::vector<std::vector<std::int64_t>>>> drawn_;
};

// Every block of queries as a separate sequence, with the rows of its keys.
struct Blocks {
  std::vector<std::int64_t> query_lengths, key_lengths, key_rows;

  void add(std::int64_t begin, std::int64_t length, const BlockSparse& spec, std::int64_t head,
           RandomBlocks& random) {
    const std::int64_t count = (length + spec.size - 1) / spec.size;
    const auto size_of = [&](std::int64_t block) { return std::min(spec.size, length - block * spec.size); };
    if (!is_sparse(length, spec)) {
      query_lengths.push_back(length);
      append(begin, length);
      key_lengths.push_back(length);
      return;
    }
    const auto plan = block_plan(count, random.of(head, count));
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

// Converts the weights of blocks [heads, Lq, keys] to those of their sequences [heads, L, L]. If a block of
// keys counts several times, this gives the weight of one of them, as in the original.
std::vector<Tensor> spread(const std::vector<Tensor>& of_blocks, const Offsets& offsets,
                           const Offsets& queries, const Offsets& keys, const Tensor& key_rows) {
  std::vector<Tensor> weights;
  std::int64_t block = 0;
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    const std::int64_t L = offsets.length(b), end = offsets.begin(b) + L;
    Tensor whole = ops::zeros({of_blocks.front().size(0), L, L}, of_blocks.front().type());
    for (; block < queries.count() && queries.begin(block) < end; ++block) {
      const Tensor columns = keys.part(key_rows, block) - offsets.begin(b);
      Tensor rows = whole.narrow(1, queries.begin(block) - offsets.begin(b), queries.length(block));
      rows.index_copy_(2, columns, of_blocks[static_cast<std::size_t>(block)]);
    }
    weights.push_back(whole);
  }
  return weights;
}

// Captures how the weights of whole sequences are computed: keys outside of all blocks count zero times.
void capture_scores(const Tensor& packed, const Offsets& offsets, const Offsets& queries, const Offsets& keys,
                    const Tensor& key_rows, const AttentionCall& call) {
  std::int64_t block = 0;
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    const std::int64_t L = offsets.length(b), end = offsets.begin(b) + L;
    const Tensor heads = offsets.part(packed, b)
                             .reshape({L, 3, call.spec.heads, call.spec.head_size})
                             .permute({1, 2, 0, 3})
                             .contiguous();  // [3, H, L, D]
    Tensor copies = ops::zeros({L, L}, packed.type());
    for (; block < queries.count() && queries.begin(block) < end; ++block)
      copies.narrow(0, queries.begin(block) - offsets.begin(b), queries.length(block))
          .add_(ops::bincount(keys.part(key_rows, block) - offsets.begin(b), {}, L).unsqueeze(0));
    call.scores->push_back({.query = heads[0],
                            .key = heads[1],
                            .value = heads[2],
                            .scale = call.spec.scale,
                            .penalty = ops::zeros({L, L}, packed.type()),
                            .copies = copies});
  }
}

// For one head, or several that see the same blocks.
Tensor attend_to_blocks(const Tensor& packed, const Offsets& offsets, const Blocks& blocks,
                        const AttentionCall& call) {
  const std::int64_t w = call.spec.heads * call.spec.head_size;
  const Offsets queries(blocks.query_lengths), keys(blocks.key_lengths);
  const Tensor key_rows = ops::tensor(blocks.key_rows, kLong);
  const Tensor gathered = packed.narrow(1, w, 2 * w).index_select(0, key_rows);  // [keys, 2 w]
  AttentionCall of_blocks = call;
  of_blocks.scores = nullptr;
  const Tensor mixed = attention(packed.narrow(1, 0, w).contiguous(), queries,
                                 {.rows = gathered, .offsets = keys}, {}, of_blocks);
  if (call.scores) capture_scores(packed, offsets, queries, keys, key_rows, call);
  if (call.weights) *call.weights = spread(*call.weights, offsets, queries, keys, key_rows);
  return mixed;
}

}  // namespace

Tensor block_sparse_attention(const Tensor& packed, const Offsets& offsets, const BlockSparse& spec,
                              const AttentionCall& call, std::optional<std::int64_t> layer) {
  if (!is_sparse(offsets.longest(), spec)) return attention(packed, offsets, {}, {}, call);
  const std::int64_t T = packed.size(0), H = call.spec.heads, B = offsets.count();
  Blocks blocks;
  RandomBlocks random(spec, H, layer);
  if (!layer) {
    for (std::int64_t b = 0; b < B; ++b) blocks.add(offsets.begin(b), offsets.length(b), spec, 0, random);
    return attend_to_blocks(packed, offsets, blocks, call);
  }
  // Every head draws its own blocks, so each becomes a separate text: [T, 3 w] -> [H T, 3 w / H].
  std::vector<std::int64_t> lengths;
  for (std::int64_t h = 0; h < H; ++h)
    for (std::int64_t b = 0; b < B; ++b) {
      lengths.push_back(offsets.length(b));
      blocks.add(h * T + offsets.begin(b), offsets.length(b), spec, h, random);
    }
  const Tensor by_head = packed.view({T, 3, H, -1}).permute({2, 0, 1, 3}).reshape({H * T, -1});
  AttentionCall single = call;
  single.spec.heads = 1;
  single.scores = nullptr;  // training does not capture scores
  const Tensor mixed = attend_to_blocks(by_head, Offsets(lengths), blocks, single);
  if (call.weights) {
    std::vector<Tensor> of_heads;
    std::swap(of_heads, *call.weights);  // [H B] of [1, L, L]
    for (std::int64_t b = 0; b < B; ++b) {
      std::vector<Tensor> parts;
      for (std::int64_t h = 0; h < H; ++h) parts.push_back(of_heads[static_cast<std::size_t>(h * B + b)]);
      call.weights->push_back(ops::cat(parts));
    }
  }
  return mixed.view({H, T, -1}).transpose(0, 1).reshape({T, -1});
}

}  // namespace attend
