#include "tokenizers/text/trie.h"

#include "base/error.h"

#include <algorithm>
#include <span>

namespace attend::tokenizers {

// Places the children of each node where all of them find a free unit. The search for a place ends after a
// fixed number of attempts with a new block of units: O(n) for n bytes of text, once sorted.
class TrieBuilder {
 public:
  TrieBuilder(Trie& trie, std::span<const Trie::Entry> sorted) : units_(trie.units_), entries_(sorted) {
    units_.clear();
    add_block();
    is_taken_[0] = true;
    trie.root_ = build();
  }

 private:
  static constexpr std::size_t block = 256;
  static constexpr int max_attempts = 32;

  // The entries [first, last) share their first `depth` bytes, which lead to the unit (0: the root).
  struct Task {
    std::size_t first, last, depth;
    std::uint32_t unit;
  };

  std::uint32_t build() {
    std::uint32_t root = 0;
    std::vector<Task> tasks;
    if (!entries_.empty()) tasks.push_back({0, entries_.size(), 0, 0});
    std::vector<std::size_t> begins;
    while (!tasks.empty()) {
      Task task = tasks.back();
      tasks.pop_back();
      if (entries_[task.first].text.size() == task.depth)
        units_[task.unit].value = static_cast<std::uint64_t>(entries_[task.first++].value) + 1;
      labels_.clear();
      begins.clear();
      for (std::size_t i = task.first; i < task.last; ++i) {
        const auto byte = static_cast<unsigned char>(entries_[i].text[task.depth]);
        if (!labels_.empty() && labels_.back() == byte) continue;
        labels_.push_back(byte);
        begins.push_back(i);
      }
      if (labels_.empty()) continue;
      const std::uint32_t children = find_place();
      is_taken_[children] = true;
      if (task.depth == 0)
        root = children;
      else
        units_[task.unit].children = children;
      for (std::size_t i = labels_.size(); i-- > 0;) {
        const std::uint32_t unit = children ^ labels_[i];
        units_[unit].label = labels_[i] + std::uint64_t{1};
        const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : task.last;
        tasks.push_back({begins[i], end, task.depth + 1, unit});
      }
    }
    return root;
  }

  // A position for the children labels_.
  std::uint32_t find_place() {
    int attempts = 0;
    for (std::size_t i = free_.size(); i-- > 0 && attempts < max_attempts;) {
      if (units_[free_[i]].label != 0) {
        free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));  // near the end
        continue;
      }
      const std::uint32_t place = free_[i] ^ labels_[0];
      if (fits(place)) return place;
      ++attempts;
    }
    const auto place = static_cast<std::uint32_t>(units_.size());
    add_block();
    return place;
  }

  bool fits(std::uint32_t place) const {
    return !is_taken_[place] && std::all_of(labels_.begin(), labels_.end(), [&](std::uint32_t label) {
      return units_[place ^ label].label == 0;
    });
  }

  void add_block() {
    const std::size_t begin = units_.size();
    if (begin + block > std::size_t{1} << 30) fail("the tokens have too much text");
    units_.resize(begin + block);
    is_taken_.resize(begin + block);
    for (std::size_t i = block; i-- > 0;) free_.push_back(static_cast<std::uint32_t>(begin + i));
  }

  std::vector<Trie::Unit>& units_;
  std::span<const Trie::Entry> entries_;
  std::vector<std::uint32_t> labels_;  // of the children to place, ascending
  std::vector<std::uint32_t> free_;    // units, the newest last; some may be used by now
  std::vector<bool> is_taken_;         // by a node's `children`
};

Trie::Trie(std::vector<Entry> entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.text.empty(); });
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.text < b.text; });
  const auto same = [](const Entry& a, const Entry& b) { return a.text == b.text; };
  entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
  TrieBuilder(*this, entries);
}

}  // namespace attend::tokenizers
