// Pages of keys and values in int8, as the KV cache writes them and attention reads them: first the keys,
// then the values, each head by head. A head has `rows` times head_size bytes and then a float32 scale for
// each of these rows. So the data of one head in a page is contiguous.
#pragma once

#include <cstdint>

namespace attend::kernels {

struct Int8PageLayout {
  std::int64_t heads = 0, head_size = 0, rows = 0;  // rows: a multiple of 4, so that scales are aligned

  constexpr std::int64_t head_bytes() const { return rows * (head_size + 4); }
  constexpr std::int64_t page_bytes() const { return 2 * heads * head_bytes(); }
  // The byte offset of a head's keys (half 0) or values (half 1) in a page; their scales follow.
  constexpr std::int64_t bytes_at(std::int64_t half, std::int64_t head) const {
    return (half * heads + head) * head_bytes();
  }
  constexpr std::int64_t scales_at(std::int64_t half, std::int64_t head) const {
    return bytes_at(half, head) + rows * head_size;
  }
};

}  // namespace attend::kernels
