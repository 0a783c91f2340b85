// The pages of a KV cache: keys and values of every layer, kRows tokens per page, and their storage format.
// PagedCache tracks who uses which page (cache.h).
#pragma once

#include <attend/cache_format.h>

#include "kernels/int8/pages.h"
#include "kernels/kernels.h"
#include "tensor/tensor.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace attend {

// What a cache stores for a token: in each layer a key and a value for each key head.
struct CacheShape {
  std::int64_t layers = 1, heads = 1, head_size = 1;
  ScalarType type = kFloat;  // type of what is written; of bfloat16 and int8: float32
  CacheFormat format = CacheFormat::float32;
  ops::Device* device = nullptr;  // where the pages are

  std::int64_t width() const { return heads * head_size; }
  std::int64_t page_bytes() const;  // of all layers
};

class CachePages {
 public:
  static constexpr std::int64_t kRows = 16;

  explicit CachePages(const CacheShape& shape);

  std::int64_t count() const { return pages_.size(0); }
  CacheFormat format() const { return shape_.format; }
  // Sets the number of pages; the contents stay.
  void grow(std::int64_t count);
  // Copies the first `rows` keys and values of every layer.
  void copy(std::int64_t from, std::int64_t to, std::int64_t rows);
  // Stores tokens [count, 2 width], each a key and a value, from `slot` of a page on. In int8 each head is
  // rounded separately, so the stored numbers depend only on the token.
  void write(std::int64_t layer, std::int64_t page, std::int64_t slot, const Tensor& key_values);
  // Copies of the first `length` keys and values of these pages: [length, width] each.
  std::pair<Tensor, Tensor> gather(std::int64_t layer, const std::vector<std::int32_t>& pages,
                                   std::int64_t length) const;
  // Where the kernels find them, for pages that are on_kernels().
  void describe(std::int64_t layer, kernels::KeyValueView& view) const;

 private:
  bool in_int8() const { return shape_.format == CacheFormat::int8; }
  bool in_bfloat16() const { return shape_.format == CacheFormat::bfloat16; }
  void write_int8(std::int8_t* page, std::int64_t slot, const float* key_value) const;
  template <class Number>
  void write_rows(Number* page, std::int64_t slot, const Tensor& key_values) const;
  Tensor widened(const Tensor& pages) const;

  CacheShape shape_;
  kernels::Int8PageLayout layout_;
  // [pages, layers, 2, heads, kRows, head_size] of float32 or bfloat16; int8: [pages, layers,
  // layout_.page_bytes()]. A page's data of all layers is contiguous, so memory is touched only when a page
  // is used. Attention goes from head to head, and reads a page from its start to its end.
  Tensor pages_;
};

}  // namespace attend
