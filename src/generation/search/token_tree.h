// Branching texts: each is its last token, and its earlier tokens are found through the parents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace attend {

class TokenTree {
 public:
  using Node = std::int64_t;
  static constexpr Node kRoot = -1;  // no token yet

  Node add(std::int64_t token, Node parent, float log_probability) {
    entries_.push_back({token, parent, log_probability});
    return static_cast<Node>(entries_.size()) - 1;
  }
  std::int64_t token(Node node) const { return entries_[node].token; }
  // From the root to the node.
  std::vector<std::int64_t> tokens(Node node) const { return path(node, &Entry::token); }
  std::vector<float> log_probabilities(Node node) const { return path(node, &Entry::log_probability); }

 private:
  struct Entry {
    std::int64_t token;
    Node parent;
    float log_probability;
  };

  template <class Value>
  std::vector<Value> path(Node node, Value Entry::*member) const {
    std::vector<Value> result;
    for (; node != kRoot; node = entries_[node].parent) result.push_back(entries_[node].*member);
    std::ranges::reverse(result);
    return result;
  }

  std::vector<Entry> entries_;
};

}  // namespace attend
