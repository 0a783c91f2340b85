#include "nn/attention/decode.h"

#include "tensor/parallel.h"

#include <algorithm>
#include <vector>

namespace attend {

void decode(const kernels::Attention& a) {
  struct Keys {
    std::int64_t begin = 0, pieces = 0, first_row = 0;  // of `sums`
  };
  std::vector<Keys> keys(static_cast<std::size_t>(a.sequences));
  std::int64_t all_pieces = 0, all_keys = 0;
  for (std::size_t b = 0; b < keys.size(); ++b) {
    const std::int64_t length = a.keys.key_length[b];
    keys[b].begin = a.window > 0 ? std::max<std::int64_t>(0, length - a.window) : 0;
    keys[b].first_row = all_pieces * a.heads;
    for (std::int64_t j = keys[b].begin; j < length; j = kernels::decode_end(j, length)) ++keys[b].pieces;
    all_pieces += keys[b].pieces;
    all_keys += length - keys[b].begin;
  }
  // All heads together read whole rows, which is faster; but all threads must get a task.
  const std::int64_t each = std::max<std::int64_t>(1, all_pieces), wanted = 4 * parallel_threads(),
                     groups = std::clamp<std::int64_t>((wanted + each - 1) / each, 1, a.key_heads),
                     sharing = a.heads / a.key_heads, width = a.head_size + kernels::kDecodeExtra;
  const Tensor sums = ops::empty({all_pieces * a.heads, width}, kFloat);
  std::vector<kernels::DecodePiece> tasks;
  for (std::size_t b = 0; b < keys.size(); ++b) {
    const std::int64_t length = a.keys.key_length[b];
    float* rows = sums.data<float>() + keys[b].first_row * width;
    for (std::int64_t j = keys[b].begin; j < length; j = kernels::decode_end(j, length))
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t first = a.key_heads * g / groups, heads = a.key_heads * (g + 1) / groups - first;
        tasks.push_back(
            {static_cast<std::int64_t>(b), j, kernels::decode_end(j, length), first, heads, rows});
        rows += heads * sharing * width;
      }
  }
  const kernels::Kernels& k = kernels::kernels();
  const std::int64_t cost = all_keys / each * a.heads * a.head_size / groups;
  parallel_ranges(std::ssize(tasks), cost, [&](std::int64_t begin, std::int64_t end) {
    const Tensor scratch = ops::empty({k.decode_scratch(a)}, kFloat);
    k.decode(a, tasks.data() + begin, end - begin, scratch.data<float>());
  });
  for (std::size_t b = 0; b < keys.size(); ++b) {
    if (keys[b].pieces == 1) continue;  // decode has joined it
    parallel_ranges(a.heads, keys[b].pieces * a.head_size, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t h = begin; h < end; ++h)
        k.join_pieces(a, static_cast<std::int64_t>(b) * a.heads + h,
                      sums.data<float>() + (keys[b].first_row + h) * width, a.heads * width, keys[b].pieces);
    });
  }
}

}  // namespace attend
