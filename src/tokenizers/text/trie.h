// A set of texts with values, to find those that begin another text: a double-array trie (Aoe 1989, "An
// efficient digital search algorithm by using a double-array structure"). A step is one look-up in a table of
// 8 bytes per node, so a search is O(m) for texts of at most m bytes.
#pragma once

#include <attend/tokenizer.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

class Trie {
 public:
  struct Entry {
    std::string_view text;
    TokenId value;  // 0 to Vocabulary::max_id
  };
  Trie() = default;  // without texts
  // If entries have the same text, the first one counts; the empty text is ignored. The texts are not stored.
  explicit Trie(std::vector<Entry> entries);

  // The node that a text leads to.
  struct Node {
    std::uint32_t children = 0;  // position of its children; 0: no text continues from here
    TokenId value = -1;          // -1: no text ends here
  };
  Node root() const { return {root_, -1}; }
  Node step(Node from, char byte) const {
    const Unit unit = units_[from.children ^ static_cast<unsigned char>(byte)];
    if (unit.label != label_of(byte)) return {};
    return {static_cast<std::uint32_t>(unit.children), static_cast<TokenId>(unit.value) - 1};
  }
  Node step(Node from, std::string_view text) const {
    for (const char byte : text) from = step(from, byte);
    return from;
  }

  // Calls visit(length, value) for every text that begins `text`, the shortest first.
  template <class Visit>
  void find_prefixes(std::string_view text, Visit visit) const {
    Node node = root();
    for (std::size_t length = 1; length <= text.size() && node.children != 0; ++length) {
      node = step(node, text[length - 1]);
      if (node.value >= 0) visit(length, node.value);
    }
  }

  bool empty() const { return root_ == 0; }

 private:
  friend class TrieBuilder;

  // The child for byte b of a node with `children` c is the unit c ^ b, if that has the label of b. No two
  // nodes have the same c, and none has 0, so a node without children finds no matching label there.
  struct Unit {
    std::uint64_t children : 30 = 0;
    std::uint64_t label : 9 = 0;   // 0: free
    std::uint64_t value : 25 = 0;  // the value + 1; 0: none
  };
  static_assert(sizeof(Unit) == 8);
  static std::uint64_t label_of(char byte) { return static_cast<unsigned char>(byte) + std::uint64_t{1}; }

  std::vector<Unit> units_ = std::vector<Unit>(256);  // whole blocks of 256, so that any byte stays inside
  std::uint32_t root_ = 0;
};

}  // namespace attend::tokenizers
