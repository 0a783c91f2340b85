// The prefix cache: finds pages with common prefixes of prompts by their tokens, as in vLLM's automatic
// prefix caching, with a tree (Zheng et al. 2023, "RadixAttention", arXiv:2312.07104) in which every edge is
// one page.
//
// Finding and adding a prompt of n tokens takes O(n log pages).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace attend {

class PromptPages {
 public:
  using Page = std::int32_t;
  explicit PromptPages(std::int64_t page_rows) : rows_(static_cast<std::size_t>(page_rows)) {}

  // The pages of the longest known prefix of `tokens`, in whole pages. `kind`: what else determines the
  // contents of a page (the adapter that read it); prefixes of two kinds are never the same.
  std::vector<Page> find(std::span<const std::int64_t> tokens, std::uint64_t kind = 0) const;
  // Stores that `pages` hold `tokens`; a last, incomplete page is left out. If another page is known for the
  // same tokens after the same prefix, that one stays.
  void add(std::span<const std::int64_t> tokens, std::span<const Page> pages, std::uint64_t kind = 0);
  bool knows(Page page) const { return places_.contains(page); }
  void forget(Page page);
  void clear();

 private:
  // Identifies the text up to and including a page: the node before it, and the page's own tokens. Nodes have
  // their own numbers, because a page may be reused while others still name it as their parent.
  using Key = std::pair<std::uint64_t, std::vector<std::int64_t>>;
  struct Node {
    std::uint64_t number;
    Page page;
  };
  static std::uint64_t root(std::uint64_t kind) { return 0 - kind; }
  Key key(std::uint64_t parent, std::span<const std::int64_t> tokens, std::size_t i) const;

  std::size_t rows_;
  std::uint64_t last_number_ = 0;  // 0 is the root; roots of other kinds are counted down from 2^64
  std::map<Key, Node> nodes_;
  std::unordered_map<Page, std::map<Key, Node>::iterator> places_;
};

}  // namespace attend
