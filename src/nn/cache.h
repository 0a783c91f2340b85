// The paged KV cache (Kwon et al. 2023, "PagedAttention", arXiv:2309.06180).
//
// Keys and values of every layer lie in pages of kPageRows tokens. A sequence is a table of page numbers, so
// a beam that branches copies its table, not its keys; a page is given back when the last table drops it.
// Prompts that begin alike share the whole pages of that beginning. Such a page is known by its tokens even
// when no sequence uses it, until room is needed: those left longest ago are taken first. Where every layer
// sees a window only, a sequence gives back the pages that all windows have left.
#pragma once

#include "nn/cache_pages.h"
#include "nn/prompt_pages.h"
#include "nn/ragged.h"

#include <set>

namespace attend {

class PagedCache {
 public:
  static constexpr std::int64_t kPageRows = CachePages::kRows;
  using Sequence = std::int64_t;

  // Grows as needed, up to `max_pages` (Error beyond; 0: no limit), each of shape.page_bytes(). `window`: no
  // query sees more keys than this, the last ones; 0: any may see all.
  explicit PagedCache(const CacheShape& shape, std::int64_t max_pages = 0, std::int64_t window = 0);

  // `kind`: sequences share beginnings with those of their kind alone (PromptPages).
  Sequence add(std::uint64_t kind = 0);
  Sequence fork(Sequence sequence);  // shares all pages until one of the two is extended
  void release(Sequence sequence);

  // Makes room for `count` more tokens (copying a last page that is shared). Their keys and values are then
  // written layer by layer; length() counts them from now on.
  void extend(Sequence sequence, std::int64_t count);
  // The most pages that this takes from the free ones, less those that it gives back
  // first; 0 at least.
  std::int64_t pages_to_extend(Sequence sequence, std::int64_t count) const;
  static std::int64_t pages_of(std::int64_t tokens) { return (tokens + kPageRows - 1) / kPageRows; }
  // The most pages that a sequence holds which reads `prompt` tokens at once and then one by one up to
  // `total`.
  std::int64_t pages_of(std::int64_t prompt, std::int64_t total) const;

  // A sequence that holds nothing of `prompt`, or whole pages of its beginning, gets the pages that are known
  // to hold what comes next; length() says how much it holds then. The last two tokens are never among it:
  // attention rounds a single query otherwise than several, and a prompt is to come out the same to the last
  // bit whether it shares or not.
  void share(Sequence sequence, std::span<const std::int64_t> prompt);
  // What length() would be after that.
  std::int64_t known_tokens(Sequence sequence, std::span<const std::int64_t> prompt) const;
  // The most pages that share(), and reading the rest of `prompt`, take from the free ones.
  std::int64_t pages_to_read(Sequence sequence, std::span<const std::int64_t> prompt) const;
  // The pages in use by others that an empty sequence would share.
  std::int64_t pages_shared(std::span<const std::int64_t> prompt, std::uint64_t kind = 0) const;
  // The sequence holds `prompt`, or will with the present pass: others may share it from now on. Of a prompt
  // that is read in pieces: all that has been read.
  void publish(Sequence sequence, std::span<const std::int64_t> prompt);
  // Nothing is known any more: a pass failed, and its pages may hold anything.
  void forget_prompts();

  // The keys and values of the last tokens of each sequence: key_value [T, 2 width], rows as `offsets` says.
  void write(std::int64_t layer, const std::vector<Sequence>& sequences, const Offsets& offsets,
             const Tensor& key_value);

  std::int64_t length(Sequence sequence) const { return tables_.at(sequence).length; }
  std::int64_t pages_in_use() const;
  std::int64_t free_pages() const;  // within the limit
  std::int64_t max_pages() const { return max_pages_; }
  const std::vector<std::int32_t>& page_table(Sequence sequence) const { return tables_.at(sequence).pages; }
  const CachePages& pages() const { return pages_; }
  // The keys and the values of one sequence, copied out: [length, width] each; zeros where it has given pages
  // back.
  std::pair<Tensor, Tensor> gather(Sequence sequence, std::int64_t layer) const;

 private:
  struct Table {
    std::vector<std::int32_t> pages;
    std::size_t left =
        0;  // so many of them are given back; in their places stand others, for kernels to pass over
    std::int64_t length = 0;
    std::uint64_t kind = 0;
  };
  std::size_t first_seen_page(const Table& table) const;
  void leave_pages(Table& table);
  std::vector<std::int32_t> known_pages(std::span<const std::int64_t> prompt, std::uint64_t kind) const;
  std::vector<std::int32_t> pages_behind(const Table& table, std::span<const std::int64_t> prompt) const;
  std::int64_t in_use_among(const std::vector<std::int32_t>& pages) const;
  std::int32_t take_page();
  void grow();
  void drop_page(std::int32_t page);

  CachePages pages_;
  std::int64_t max_pages_, window_;
  std::vector<std::int32_t> references_;  // per page
  std::vector<std::int32_t> free_pages_;
  PromptPages prompts_;
  std::set<std::pair<std::uint64_t, std::int32_t>> kept_;  // unused pages of prompts, by when they were left
  std::vector<std::uint64_t> left_at_;                     // per page
  std::uint64_t clock_ = 0;
  std::vector<Table> tables_;  // by sequence number
  std::vector<Sequence> free_sequences_;
};

}  // namespace attend
