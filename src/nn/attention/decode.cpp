#include "nn/attention/decode.h"

#include "tensor/parallel.h"

#include <algorithm>
#include <vector>

namespace attend {
namespace {

// The keys that a sequence's query sees, and the pieces into which they are cut.
struct SeenKeys {
  std::int64_t sequence, begin, end;
  std::int64_t pieces = 0, first_piece = 0;

  SeenKeys(const kernels::Attention& a, std::int64_t b)
      : sequence(b),
        begin(a.window > 0 ? std::max<std::int64_t>(0, a.keys.key_length[b] - a.window) : 0),
        end(a.keys.key_length[b]) {
    for (std::int64_t j = begin; j < end; j = kernels::decode_end(j, end)) ++pieces;
  }
};

}  // namespace

void decode(const kernels::Attention& a, std::span<const std::int64_t> sequences) {
  if (sequences.empty()) return;
  std::vector<SeenKeys> all;
  std::int64_t pieces = 0, keys = 0;
  for (const std::int64_t b : sequences) {
    SeenKeys& seen = all.emplace_back(a, b);
    seen.first_piece = pieces;
    pieces += seen.pieces;
    keys += seen.end - seen.begin;
  }
  // A task of all heads reads whole pages, which is faster; but all threads must get a task.
  const std::int64_t each = std::max<std::int64_t>(1, pieces), wanted = 4 * parallel_threads(),
                     groups = std::clamp<std::int64_t>((wanted + each - 1) / each, 1, a.key_heads),
                     sharing = a.heads / a.key_heads, width = a.head_size + kernels::kDecodeExtra;
  const Tensor sums = ops::empty({pieces, a.heads, width}, kFloat);
  float* row = sums.data<float>();
  std::vector<kernels::DecodePiece> tasks;
  for (const SeenKeys& seen : all)
    for (std::int64_t j = seen.begin; j < seen.end; j = kernels::decode_end(j, seen.end))
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t first = a.key_heads * g / groups, heads = a.key_heads * (g + 1) / groups - first;
        tasks.push_back({seen.sequence, j, kernels::decode_end(j, seen.end), first, heads, row});
        row += heads * sharing * width;
      }
  const kernels::Kernels& k = kernels::kernels();
  parallel_ranges(std::ssize(tasks), keys / each * a.heads * a.head_size / groups,
                  [&](std::int64_t begin, std::int64_t end) {
                    const Tensor scratch = ops::empty({k.decode_scratch(a)}, kFloat);
                    k.decode(a, tasks.data() + begin, end - begin, scratch.data<float>());
                  });
  for (const SeenKeys& seen : all) {
    if (seen.pieces == 1) continue;  // decode has joined it
    const float* const first = sums.data<float>() + seen.first_piece * a.heads * width;
    parallel_ranges(a.heads, seen.pieces * a.head_size, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t h = begin; h < end; ++h)
        k.join_pieces(a, seen.sequence * a.heads + h, first + h * width, a.heads * width, seen.pieces);
    });
  }
}

}  // namespace attend
