// Divides a SentencePiece text into words that are tokenized independently, so that a cache can hold them.
// Borders are where no piece can cross: before the spaces between two words, and between two bytes that are
// neighbours in no piece ("word" "," if there is no piece with "d,").
#pragma once

#include "tokenizers/sentencepiece/sentencepiece.h"
#include "tokenizers/text/metaspace.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace attend::tokenizers {

class WordBorders {
 public:
  explicit WordBorders(const std::vector<SentencePieceFile::Piece>& pieces);

  // False: pieces may cross words, and a text must be tokenized as a whole.
  bool any() const { return any_; }

  // Iterates over the words of a text in order; together they are the whole text. The space of "x y" belongs
  // to the second word. O(n) for n bytes.
  class Words {
   public:
    Words(const WordBorders& borders, std::string_view text) : borders_(borders), text_(text) {}
    // The next word; empty: none.
    std::string_view next() {
      std::size_t end = text_.size();
      while (found_ != 0 || block_ + 1 < text_.size()) {
        if (found_ == 0) {
          found_ = borders_.find(text_, block_ + 1);
          block_ += 64;
          continue;
        }
        const std::size_t at = block_ - 63 + static_cast<std::size_t>(std::countr_zero(found_));
        found_ &= found_ - 1;
        if (text_[at] == space[0] && !is_first_space(text_, at)) continue;
        end = at;
        break;
      }
      const std::size_t begin = std::exchange(begin_, end);
      return text_.substr(begin, end - begin);
    }

   private:
    const WordBorders& borders_;
    std::string_view text_;
    std::size_t begin_ = 0;
    std::size_t block_ = 0;    // the borders up to here are known
    std::uint64_t found_ = 0;  // bit i: possible border before the byte block_ - 63 + i
  };

 private:
  static constexpr std::string_view space = space_letter;

  static std::size_t index(char last, char next) {
    return std::size_t{static_cast<unsigned char>(next)} << 8 | static_cast<unsigned char>(last);
  }
  // Bit i: there is a border before text[at + i], or perhaps a space begins. Handles 64 bytes without
  // branches, because the ends of words are hard to predict.
  std::uint64_t find(std::string_view text, std::size_t at) const {
    const std::size_t count = std::min<std::size_t>(text.size() - at, 64);
    std::uint64_t found = 0;
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
      std::uint64_t eight = 0;
#pragma GCC unroll 8
      for (std::size_t j = 0; j < 8; ++j)
        eight |= std::uint64_t{may_part_[index(text[at + i + j - 1], text[at + i + j])]} << j;
      found |= eight << i;
    }
    for (; i < count; ++i) found |= std::uint64_t{may_part_[index(text[at + i - 1], text[at + i])]} << i;
    return found;
  }
  static bool is_first_space(std::string_view text, std::size_t at) {
    const auto is_space = [text](std::size_t i) { return text.substr(i, space.size()) == space; };
    return is_space(at) && !(at >= space.size() && is_space(at - space.size()));
  }

  std::vector<std::uint8_t> may_part_;  // by index(): 1 for a border, or where perhaps a space begins
  bool any_;
};

}  // namespace attend::tokenizers
