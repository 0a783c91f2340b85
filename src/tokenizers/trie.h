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
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::uint64_t key = edge(node, text[i]);
      if ((std::size_t{count_} + 1) * 2 > edges_.size()) grow();
      Edge& found = edges_[slot(key)];
      if (found.key == 0) found = {key, ++count_, -1};
      node = found.node;
      if (i + 1 == text.size() && found.value < 0) found.value = value;
    }
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
      if (found.value >= 0) visit(length, found.value);
    }
  }

  bool empty() const { return count_ == 0; }

 private:
  struct Edge {
    std::uint64_t key = 0;  // 0: free
    std::uint32_t node = 0;
    TokenId value = -1;  // -1: no text ends here
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
  std::uint32_t count_ = 0;  // of edges, and so of nodes but the first
};

}  // namespace attend::tokenizers
