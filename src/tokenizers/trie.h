// A trie over the bytes of texts, in one flat table of edges.
#pragma once

#include <attend/tokenizer.h>

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

class Trie {
 public:
  // The first value given to a text stays.
  void add(std::string_view text, TokenId value) {
    std::uint32_t node = 0;
    for (const char byte : text) {
      const std::uint64_t key = edge(node, byte);
      if ((count_ + 1) * 2 > edges_.size()) grow();
      Edge& found = edges_[slot(key)];
      if (found.key == 0) {
        found = {key, static_cast<std::uint32_t>(values_.size())};
        values_.push_back(-1);
        ++count_;
      }
      node = found.node;
    }
    if (values_[node] < 0) values_[node] = value;
  }

  // Calls visit(length, value) for every text that begins `text`, the shortest first.
  template <class Visit>
  void find_prefixes(std::string_view text, Visit visit) const {
    std::uint32_t node = 0;
    for (std::size_t length = 1; length <= text.size(); ++length) {
      const std::uint64_t key = edge(node, text[length - 1]);
      const Edge& found = edges_[slot(key)];
      if (found.key == 0) return;
      node = found.node;
      if (values_[node] >= 0) visit(length, values_[node]);
    }
  }

  bool empty() const { return count_ == 0; }

 private:
  struct Edge {
    std::uint64_t key = 0;  // 0: free
    std::uint32_t node = 0;
  };
  static std::uint64_t edge(std::uint32_t node, char byte) {
    return (static_cast<std::uint64_t>(node) << 8 | static_cast<unsigned char>(byte)) + 1;
  }
  std::size_t slot(std::uint64_t key) const {
    const std::uint64_t mixed = key * 0x9E3779B97F4A7C15u;
    std::size_t at = static_cast<std::size_t>(mixed ^ mixed >> 32) & (edges_.size() - 1);
    while (edges_[at].key != 0 && edges_[at].key != key) at = (at + 1) & (edges_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Edge> old(edges_.size() * 2);
    old.swap(edges_);
    for (const Edge& item : old)
      if (item.key != 0) edges_[slot(item.key)] = item;
  }

  std::vector<Edge> edges_ = std::vector<Edge>(16);
  std::vector<TokenId> values_ = {-1};  // by node; -1: no text ends here
  std::size_t count_ = 0;
};

}  // namespace attend::tokenizers
