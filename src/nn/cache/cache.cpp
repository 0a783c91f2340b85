#include "nn/cache/cache.h"

namespace attend {

PagedCache::PagedCache(const CacheShape& shape, std::int64_t max_pages, std::int64_t window)
    : pages_(shape), max_pages_(max_pages), window_(window), prompts_(kPageRows) {}

std::int64_t PagedCache::pages_of(std::int64_t prompt, std::int64_t total) const {
  if (window_ == 0) return pages_of(total);
  return std::min(pages_of(total), std::max(pages_of(prompt), pages_of(window_) + 2));
}

PagedCache::Sequence PagedCache::add(std::uint64_t kind) {
  if (free_sequences_.empty()) {
    tables_.emplace_back();
    free_sequences_.reserve(tables_.capacity());  // so that release() allocates no memory
    free_sequences_.push_back(static_cast<Sequence>(tables_.size()) - 1);
  }
  const Sequence sequence = free_sequences_.back();
  free_sequences_.pop_back();
  tables_[sequence].kind = kind;
  return sequence;
}

PagedCache::Sequence PagedCache::fork(Sequence sequence) {
  const Sequence copy = add();
  tables_[copy] = tables_.at(sequence);
  const Table& table = tables_[copy];
  for (std::size_t i = table.left; i < table.pages.size(); ++i) ++references_[table.pages[i]];
  return copy;
}

void PagedCache::release(Sequence sequence) {
  // In reverse, so that the end of an unused prompt is freed first.
  const Table& table = tables_.at(sequence);
  for (std::size_t i = table.pages.size(); i-- > table.left;) drop_page(table.pages[i]);
  tables_[sequence] = {};
  free_sequences_.push_back(sequence);
}

void PagedCache::extend(Sequence sequence, std::int64_t count) {
  // take_page may move pages_ but never tables_.
  Table& table = tables_.at(sequence);
  if (count > 0) leave_pages(table);
  const bool partial = table.length % kPageRows != 0;
  if (count > 0 && partial && references_[table.pages.back()] > 1) {
    const std::int32_t shared = table.pages.back(), own = take_page();
    pages_.copy(shared, own, table.length % kPageRows);
    drop_page(shared);
    table.pages.back() = own;
  }
  table.length += count;
  while (static_cast<std::int64_t>(table.pages.size()) * kPageRows < table.length)
    table.pages.push_back(take_page());
}

// No later token sees pages before this one: the next token sees itself and the last window - 1.
std::size_t PagedCache::first_seen_page(const Table& table) const {
  if (window_ == 0) return 0;
  return static_cast<std::size_t>(std::max<std::int64_t>(0, table.length + 1 - window_) / kPageRows);
}

void PagedCache::leave_pages(Table& table) {
  for (const std::size_t end = first_seen_page(table); table.left < end; ++table.left) {
    drop_page(table.pages[table.left]);
    table.pages[table.left] = 0;
  }
}

std::int64_t PagedCache::pages_to_extend(Sequence sequence, std::int64_t count) const {
  const Table& table = tables_.at(sequence);
  if (count == 0) return 0;
  std::int64_t given_back = 0;
  for (std::size_t i = table.left; i < first_seen_page(table); ++i)
    given_back += references_[table.pages[i]] == 1 ? 1 : 0;
  const bool partial = table.length % kPageRows != 0, copies = partial && references_[table.pages.back()] > 1;
  const std::int64_t taken = pages_of(table.length + count) - pages_of(table.length) + (copies ? 1 : 0);
  return std::max<std::int64_t>(0, taken - given_back);
}

std::vector<std::int32_t> PagedCache::known_pages(std::span<const std::int64_t> prompt,
                                                  std::uint64_t kind) const {
  constexpr std::size_t kOwn = 2;
  return prompt.size() <= kOwn ? std::vector<std::int32_t>()
                               : prompts_.find(prompt.first(prompt.size() - kOwn), kind);
}

// Those that may follow the pages that the sequence has.
std::vector<std::int32_t> PagedCache::pages_behind(const Table& table,
                                                   std::span<const std::int64_t> prompt) const {
  if (table.left > 0 || table.length % kPageRows != 0) return {};
  std::vector<std::int32_t> pages = known_pages(prompt, table.kind);
  const std::size_t own = std::min(table.pages.size(), pages.size());
  pages.erase(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(own));
  return pages;
}

std::int64_t PagedCache::in_use_among(const std::vector<std::int32_t>& pages) const {
  return std::ranges::count_if(pages, [&](std::int32_t page) { return references_[page] > 0; });
}

void PagedCache::share(Sequence sequence, std::span<const std::int64_t> prompt) {
  Table& table = tables_.at(sequence);
  const std::vector<std::int32_t> more = pages_behind(table, prompt);
  table.pages.insert(table.pages.end(), more.begin(), more.end());
  table.length += std::ssize(more) * kPageRows;
  for (const std::int32_t page : more)
    if (references_[page]++ == 0) kept_.erase({left_at_[page], page});
}

std::int64_t PagedCache::known_tokens(Sequence sequence, std::span<const std::int64_t> prompt) const {
  const Table& table = tables_.at(sequence);
  return table.length + std::ssize(pages_behind(table, prompt)) * kPageRows;
}

std::int64_t PagedCache::pages_to_read(Sequence sequence, std::span<const std::int64_t> prompt) const {
  const Table& table = tables_.at(sequence);
  return std::max<std::int64_t>(0, pages_to_extend(sequence, std::ssize(prompt) - table.length) -
                                       in_use_among(pages_behind(table, prompt)));
}

std::int64_t PagedCache::pages_shared(std::span<const std::int64_t> prompt, std::uint64_t kind) const {
  return in_use_among(known_pages(prompt, kind));
}

void PagedCache::publish(Sequence sequence, std::span<const std::int64_t> prompt) {
  const Table& table = tables_.at(sequence);
  if (table.left == 0) prompts_.add(prompt, table.pages, table.kind);
}

void PagedCache::forget_prompts() {
  prompts_.clear();
  for (const auto& [time, page] : kept_) free_pages_.push_back(page);
  kept_.clear();
}

void PagedCache::write(std::int64_t layer, const std::vector<Sequence>& sequences, const Offsets& offsets,
                       const Tensor& key_value) {
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    const Table& table = tables_[sequences[b]];
    const std::int64_t first = table.length - offsets.length(b);
    for (std::int64_t i = 0; i < offsets.length(b);) {  // page by page
      const std::int64_t at = first + i, slot = at % kPageRows,
                         count = std::min(kPageRows - slot, offsets.length(b) - i);
      pages_.write(layer, table.pages[at / kPageRows], slot,
                   key_value.narrow(0, offsets.begin(b) + i, count));
      i += count;
    }
  }
}

std::int64_t PagedCache::pages_in_use() const {
  return static_cast<std::int64_t>(references_.size() - free_pages_.size() - kept_.size());
}

std::int64_t PagedCache::free_pages() const {
  return max_pages_ > 0 ? max_pages_ - pages_in_use() : std::numeric_limits<std::int64_t>::max();
}

std::pair<Tensor, Tensor> PagedCache::gather(Sequence sequence, std::int64_t layer) const {
  const Table& table = tables_.at(sequence);
  auto [keys, values] = pages_.gather(layer, table.pages, table.length);
  const std::int64_t left = static_cast<std::int64_t>(table.left) * kPageRows;
  for (Tensor* rows : {&keys, &values}) rows->narrow(0, 0, left).zero_();
  return {keys, values};
}

bool PagedCache::keeps_all(std::span<const Sequence> sequences) const {
  return std::ranges::all_of(sequences, [&](Sequence each) { return tables_.at(each).left == 0; });
}

std::pair<Tensor, Tensor> PagedCache::gather(std::span<const Sequence> sequences, std::int64_t layer,
                                             std::vector<std::int64_t>& begins) const {
  std::vector<std::int32_t> pages;
  begins.clear();
  for (const Sequence each : sequences) {
    const Table& table = tables_.at(each);
    begins.push_back(std::ssize(pages) * kPageRows);
    pages.insert(pages.end(), table.pages.begin(), table.pages.end());
  }
  return pages_.gather(layer, pages, std::ssize(pages) * kPageRows);
}

std::int32_t PagedCache::take_page() {
  if (free_pages_.empty() && !kept_.empty()) {
    const std::int32_t oldest = kept_.begin()->second;
    kept_.erase(kept_.begin());
    prompts_.forget(oldest);
    free_pages_.push_back(oldest);
  }
  if (free_pages_.empty()) grow();
  const std::int32_t page = free_pages_.back();
  free_pages_.pop_back();
  references_[page] = 1;
  return page;
}

void PagedCache::grow() {
  const std::int64_t have = pages_.count();
  std::int64_t want = std::max<std::int64_t>(64, 2 * have);
  if (max_pages_ > 0) want = std::min(want, max_pages_);
  if (want <= have) fail("the KV cache is full: {} pages of {} tokens are in use", have, kPageRows);
  free_pages_.reserve(static_cast<std::size_t>(want));  // for the same reason
  left_at_.resize(want, 0);
  references_.reserve(static_cast<std::size_t>(want));
  pages_.grow(want);
  references_.resize(want, 0);
  for (std::int64_t page = want; page-- > have;) free_pages_.push_back(static_cast<std::int32_t>(page));
}

void PagedCache::drop_page(std::int32_t page) {
  if (--references_[page] > 0) return;
  if (!prompts_.knows(page)) {
    free_pages_.push_back(page);
    return;
  }
  left_at_[page] = ++clock_;
  kept_.emplace(left_at_[page], page);
}

}  // namespace attend
