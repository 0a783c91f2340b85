// The paged key-value cache (Kwon et al. 2023, "PagedAttention", arXiv:2309.06180).
//
// Keys and values of every layer lie in pages of kPageRows tokens. A sequence is a table of page numbers, so
// a beam that branches copies its table, not its keys; a page is given back when the last table drops it.
#pragma once

#include "nn/ragged.h"

namespace attend {

class PagedCache {
 public:
  static constexpr std::int64_t kPageRows = 16;
  using Sequence = std::int64_t;

  // `width` is heads * head_size. Grows as needed, up to `max_pages` per layer (Error beyond; 0: no limit).
  PagedCache(std::int64_t layers, std::int64_t width, at::TensorOptions options = at::kFloat,
             std::int64_t max_pages = 0);

  Sequence add();
  Sequence fork(Sequence sequence);  // shares all pages until one of the two is extended
  void release(Sequence sequence);

  // Makes room for `count` more tokens (copying a last page that is shared). Their keys and values are then
  // written layer by layer; length() counts them from now on.
  void extend(Sequence sequence, std::int64_t count);
  // The keys and values of the last tokens of each sequence: key_value [T, 2 width], rows as `offsets` says.
  void write(std::int64_t layer, const std::vector<Sequence>& sequences, const Offsets& offsets,
             const Tensor& key_value);

  std::int64_t length(Sequence sequence) const { return tables_.at(sequence).length; }
  std::int64_t width() const { return width_; }
  std::int64_t pages_in_use() const;
  const std::vector<std::int32_t>& page_table(Sequence sequence) const { return tables_.at(sequence).pages; }
  // [pages, 2, kPageRows, width]
  const Tensor& pages(std::int64_t layer) const { return pages_[layer]; }
  // The keys and the values of one sequence, copied out: [length, width] each.
  std::pair<Tensor, Tensor> gather(Sequence sequence, std::int64_t layer) const;

 private:
  struct Table {
    std::vector<std::int32_t> pages;
    std::int64_t length = 0;
  };
  std::int32_t take_page();
  void copy_page(std::int32_t from, std::int32_t to, std::int64_t rows);
  void drop_page(std::int32_t page);

  std::int64_t width_, max_pages_;
  std::vector<Tensor> pages_;             // per layer
  std::vector<std::int32_t> references_;  // per page
  std::vector<std::int32_t> free_pages_;
  std::vector<Table> tables_;  // by sequence number
  std::vector<Sequence> free_sequences_;
};

}  // namespace attend
