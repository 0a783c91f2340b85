#include "nn/cache/prompt_pages.h"

namespace attend {

PromptPages::Key PromptPages::key(std::uint64_t parent, std::span<const std::int64_t> tokens,
                                  std::size_t i) const {
  const auto part = tokens.subspan(i * rows_, rows_);
  return {parent, {part.begin(), part.end()}};
}

std::vector<PromptPages::Page> PromptPages::find(std::span<const std::int64_t> tokens,
                                                 std::uint64_t kind) const {
  std::vector<Page> pages;
  std::uint64_t parent = root(kind);
  for (std::size_t i = 0; i < tokens.size() / rows_; ++i) {
    const auto node = nodes_.find(key(parent, tokens, i));
    if (node == nodes_.end()) break;
    pages.push_back(node->second.page);
    parent = node->second.number;
  }
  return pages;
}

void PromptPages::add(std::span<const std::int64_t> tokens, std::span<const Page> pages, std::uint64_t kind) {
  std::uint64_t parent = root(kind);
  for (std::size_t i = 0; i < tokens.size() / rows_; ++i) {
    const auto [node, is_new] = nodes_.try_emplace(key(parent, tokens, i), Node{last_number_ + 1, pages[i]});
    if (is_new) {
      ++last_number_;
      places_[pages[i]] = node;
    }
    parent = node->second.number;
  }
}

void PromptPages::forget(Page page) {
  const auto place = places_.find(page);
  if (place == places_.end()) return;
  nodes_.erase(place->second);
  places_.erase(place);
}

void PromptPages::clear() {
  nodes_.clear();
  places_.clear();
}

}  // namespace attend
