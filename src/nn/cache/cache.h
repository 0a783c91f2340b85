// The paged KV cache (Kwon et al. 2023, "PagedAttention", arXiv:2309.06180).
//
// Keys and values of every layer are stored in pages of kPageRows tokens. A sequence is a table of page
// numbers, so a beam that branches copies its table, not its keys; a page is freed when the last table drops
// it. Prompts with a common prefix share its whole pages. Such a page can be found by its tokens even when no
// sequence uses it, until its memory is needed: the least recently used pages go first. If every layer has a
// window, a sequence frees the pages that all windows have left.
#pragma once

#include "nn/cache/cache_pages.h"
#include "nn/cache/prompt_pages.h"
#include "nn/pass/ragged.h"

#include <set>

namespace attend {

class PagedCache {
 public:
  static constexpr std::int64_t kPageRows = CachePages::kRows;
  using Sequence = std::int64_t;

  // Grows as needed, up to `max_pages` (an Error beyond; 0: no limit) of shape.page_bytes() each. `window`:
  // no query sees more keys than this, the last ones; 0: a query may see all.
  explicit PagedCache(const CacheShape& shape, std::int64_t max_pages = 0, std::int64_t window = 0);

  // `kind`: sequences share prefixes only with sequences of the same kind (PromptPages).
  Sequence add(std::uint64_t kind = 0);
  Sequence fork(Sequence sequence);  // shares all pages until one of the two is extended
  void release(Sequence sequence);

  // Makes room for `count` more tokens (copies the last page if it is shared). Their keys and values are then
  // written layer by layer; length() includes them from now on.
  void extend(Sequence sequence, std::int64_t count);
  // The largest number of free pages that extend needs, minus those that it frees first; at least 0.
  std::int64_t pages_to_extend(Sequence sequence, std::int64_t count) const;
  static std::int64_t pages_of(std::int64_t tokens) { return (tokens + kPageRows - 1) / kPageRows; }
  // The largest number of pages that a sequence holds if it reads `prompt` tokens in one step and then single
  // tokens up to `total`.
  std::int64_t pages_of(std::int64_t prompt, std::int64_t total) const;

  // Adds pages that are known to hold the next tokens of `prompt` to a sequence that is empty or holds whole
  // pages of its start; length() tells how many tokens it has then. The last two tokens are never included:
  // attention rounds a single query differently from several, and a prompt's result must not depend on
  // sharing, to the last bit.
  void share(Sequence sequence, std::span<const std::int64_t> prompt);
  // The length() after share().
  std::int64_t known_tokens(Sequence sequence, std::span<const std::int64_t> prompt) const;
  // The largest number of free pages that share() and reading the rest of `prompt` need.
  std::int64_t pages_to_read(Sequence sequence, std::span<const std::int64_t> prompt) const;
  // The number of pages that sharing saves an empty sequence: those in use by other sequences.
  std::int64_t pages_shared(std::span<const std::int64_t> prompt, std::uint64_t kind = 0) const;
  // The sequence holds `prompt`, or will after the current pass: others may share it from now on. If a prompt
  // is read in pieces: all tokens that have been read.
  void publish(Sequence sequence, std::span<const std::int64_t> prompt);
  // Forgets all prompts: a pass failed, and its pages may hold anything.
  void forget_prompts();

  // Writes the keys and values of the last tokens of each sequence: key_value [T, 2 width], with rows at
  // `offsets`.
  void write(std::int64_t layer, const std::vector<Sequence>& sequences, const Offsets& offsets,
             const Tensor& key_value);

  std::int64_t length(Sequence sequence) const { return tables_.at(sequence).length; }
  std::int64_t pages_in_use() const;
  std::int64_t free_pages() const;  // within the limit
  std::int64_t max_pages() const { return max_pages_; }
  const std::vector<std::int32_t>& page_table(Sequence sequence) const { return tables_.at(sequence).pages; }
  const CachePages& pages() const { return pages_; }
  // Copies of the keys and the values of one sequence: [length, width] each; zeros for pages that it has
  // freed.
  std::pair<Tensor, Tensor> gather(Sequence sequence, std::int64_t layer) const;
  // Copies of all rows of the pages of several sequences, of which keeps_all() is true; `begins` becomes the
  // row where each sequence begins.
  std::pair<Tensor, Tensor> gather(std::span<const Sequence> sequences, std::int64_t layer,
                                   std::vector<std::int64_t>& begins) const;
  // Whether no page was given back because it left a window.
  bool keeps_all(std::span<const Sequence> sequences) const;

 private:
  struct Table {
    std::vector<std::int32_t> pages;
    // The first `left` pages were freed; their entries are 0, and kernels skip them.
    std::size_t left = 0;
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
  std::set<std::pair<std::uint64_t, std::int32_t>> kept_;  // unused pages of prompts, by the time of their
                                                           // last use
  std::vector<std::uint64_t> left_at_;                     // per page
  std::uint64_t clock_ = 0;
  std::vector<Table> tables_;  // by sequence number
  std::vector<Sequence> free_sequences_;
};

}  // namespace attend
