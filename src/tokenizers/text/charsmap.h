// SentencePiece's precompiled normalization rules ("charsmap"): texts and their replacements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

class Charsmap {
 public:
  Charsmap() = default;  // no rules
  // From the bytes of a model file. `source` names the file and the field in errors.
  Charsmap(std::string_view bytes, const std::string& source);

  struct Rule {
    std::size_t length;            // of the text that is replaced
    std::string_view replacement;  // valid as long as this map
  };
  // The longest rule that begins `text`, for SentencePiece.
  std::optional<Rule> find_longest(std::string_view text) const;
  // The shortest one, for `tokenizers`.
  std::optional<Rule> find_shortest(std::string_view text) const;
  // Whether no rule consists of this byte or begins with it and another ASCII byte.
  bool leaves_ascii(char first) const;

 private:
  // Calls visit(length, value) for every rule that begins `text`, the shortest first, until it returns false.
  template <class Visit>
  void find_prefixes(std::string_view text, Visit visit) const;
  std::optional<std::string_view> replacement(std::uint32_t value) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;  // each ends with a zero byte
};

}  // namespace attend::tokenizers
