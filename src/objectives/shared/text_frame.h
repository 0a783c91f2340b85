// The special tokens that a tokenizer puts around a text and between two, learned from an example. So pieces
// that are already ids can be joined as if they had been encoded as text.
#pragma once

#include <attend/tokenizer.h>

#include "objectives/shared/text_encoder.h"

namespace attend {

class TextFrame {
 public:
  // `pairs`: also frame pairs of texts. Throws Error if the tokenizer does not simply join them in order.
  TextFrame(const Tokenizer& tokenizer, bool with_types, bool pairs);

  std::int64_t specials() const { return single_.specials(); }  // around one text
  std::int64_t pair_specials() const { return pair_.specials(); }

  // Token types only if requested.
  EncodedText one(std::span<const TokenId> text) const { return join(single_, text, {}); }
  EncodedText two(std::span<const TokenId> first, std::span<const TokenId> second) const {
    return join(pair_, first, second);
  }
  // The position of the second text after a first one of this many tokens.
  std::int64_t second_at(std::int64_t first) const {
    return static_cast<std::int64_t>(pair_.before.size() + pair_.between.size()) + first;
  }
  // Whether this id is part of a frame. Such tokens are never masked.
  bool is_special(std::int64_t id) const;

 private:
  // before, first text, between, second text, after.
  struct Frame {
    TokenIds before, between, after;
    TokenIds before_types, between_types, behind_types;
    std::int64_t first_type = 0, second_type = 0;
    std::int64_t specials() const {
      return static_cast<std::int64_t>(before.size() + between.size() + after.size());
    }
  };
  static Frame learn(const Encoding& encoding, bool pair);
  EncodedText join(const Frame& frame, std::span<const TokenId> first, std::span<const TokenId> second) const;

  Frame single_, pair_;
  bool with_types_;
};

}  // namespace attend
