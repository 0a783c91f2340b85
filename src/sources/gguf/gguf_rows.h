// The converter's order of the rows of queries and keys.
#pragma once

#include "sources/gguf/gguf_architectures.h"

#include <cstddef>

namespace attend {

// The index in the file of the checkpoint's row `row`. There are `heads` of `size` rows.
struct RowOrder {
  GgufName::Rows rows = GgufName::Rows::as_they_lie;
  std::size_t heads = 1, size = 1;

  std::size_t operator()(std::size_t row) const {
    if (rows == GgufName::Rows::as_they_lie) return row;
    if (rows == GgufName::Rows::by_head) {  // [heads, 3, size] in the checkpoint, [3, heads, size] here
      const std::size_t head = row / (3 * size), part = row / size % 3;
      return (part * heads + head) * size + row % size;
    }
    const std::size_t head = row / size, half = row % size / (size / 2), pair = row % (size / 2);
    return head * size + 2 * pair + half;
  }
};

}  // namespace attend
