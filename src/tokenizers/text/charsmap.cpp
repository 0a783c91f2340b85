// The rules are in a double-array trie (Aoe 1989, "An efficient digital search algorithm by using a
// double-array structure") with the layout of the Darts-clone library: one 32-bit unit per node. A step is
// one look-up, so a search costs O(m) for rules of at most m bytes. The file is not trusted: a step outside
// the array ends the search.
#include "tokenizers/text/charsmap.h"

#include "base/error.h"
#include "base/utf8.h"

#include <algorithm>
#include <cstring>

namespace attend::tokenizers {
namespace {

// A unit. In a node: the byte that leads to it, whether a rule ends at it, and the position of its children;
// in a leaf: the rule's value.
bool has_leaf(std::uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
std::uint32_t value(std::uint32_t unit) {
  return unit & 0x7FFFFFFF;
}
std::uint32_t label(std::uint32_t unit) {
  return unit & 0x800000FF;
}
std::uint32_t offset(std::uint32_t unit) {
  return unit >> 10 << ((unit & 0x200) >> 6);
}

}  // namespace

Charsmap::Charsmap(std::string_view bytes, const std::string& source) {
  std::uint32_t size = 0;
  if (bytes.size() < sizeof size)
    fail("{}: expected a precompiled charsmap, found {} bytes", source, bytes.size());
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  if (size % sizeof(std::uint32_t) != 0 || size > bytes.size())
    fail("{}: expected {} bytes of the charsmap's trie, found {}", source, size, bytes.size());
  units_.resize(size / sizeof(std::uint32_t));
  if (size > 0) std::memcpy(units_.data(), bytes.data(), size);
  replacements_ = bytes.substr(size);
  if (const auto at = find_invalid_utf8(replacements_))
    fail("{}: the charsmap's replacements are not valid UTF-8 at byte {}", source, *at);
}

template <class Visit>
void Charsmap::find_prefixes(std::string_view text, Visit visit) const {
  if (units_.empty()) return;
  std::uint32_t node = offset(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0) return;  // the label of leaves
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) return;
    const std::uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size() || !visit(i + 1, value(units_[node]))) return;
  }
}

bool Charsmap::leaves_ascii(char first) const {
  const auto child = [this](std::uint32_t node, std::uint32_t byte) -> std::optional<std::uint32_t> {
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) return {};
    return node;
  };
  if (units_.empty()) return true;
  const auto node = child(offset(units_[0]), static_cast<unsigned char>(first));
  if (!node) return true;
  if (has_leaf(units_[*node])) return false;
  for (std::uint32_t byte = 1; byte < 0x80; ++byte)
    if (child(*node ^ offset(units_[*node]), byte)) return false;
  return true;
}

std::optional<std::string_view> Charsmap::replacement(std::uint32_t value) const {
  if (value >= replacements_.size() || (replacements_[value] & 0xC0) == 0x80) return {};
  const std::size_t end = std::min(replacements_.find('\0', value), replacements_.size());
  return std::string_view(replacements_).substr(value, end - value);
}

std::optional<Charsmap::Rule> Charsmap::find_longest(std::string_view text) const {
  std::optional<Rule> found;
  find_prefixes(text, [&](std::size_t length, std::uint32_t value) {
    if (const auto content = replacement(value)) found = Rule{length, *content};
    return true;
  });
  return found;
}

std::optional<Charsmap::Rule> Charsmap::find_shortest(std::string_view text) const {
  std::optional<Rule> found;
  find_prefixes(text, [&](std::size_t length, std::uint32_t value) {
    if (const auto content = replacement(value)) found = Rule{length, *content};
    return false;
  });
  return found;
}

}  // namespace attend::tokenizers
