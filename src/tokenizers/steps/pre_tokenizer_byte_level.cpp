#include "tokenizers/steps/pre_tokenizer.h"
#include "tokenizers/text/gpt2_words.h"

namespace attend::tokenizers {
namespace {

// Splits like GPT-2 and replaces every byte by its letter (byte_level.h).
class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(const Json& json, const std::string& source) {
    const Fields read(json, source);
    add_prefix_space_ = read.flag({"add_prefix_space"}, true);
    use_regex_ = read.flag({"use_regex"}, true);
  }

  void apply(Pieces& pieces) const override {
    if (add_prefix_space_ && lacks_space(pieces))
      pieces.rewrite([](NormalizedText& text) {
        if (!text.text().starts_with(' ')) text.prepend(" ");
      });
    if (use_regex_) pieces.split([](std::string_view text, auto emit) { split_gpt2_words(text, emit); });
    pieces.byte_level = true;
  }

 private:
  static bool lacks_space(const Pieces& pieces) {
    for (const Piece& piece : pieces.pieces)
      if (piece.token < 0 && !pieces.view(piece).starts_with(' ')) return true;
    return false;
  }

  bool add_prefix_space_, use_regex_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_byte_level_pre_tokenizer(const Json& json, const std::string& source) {
  return std::make_unique<ByteLevelPreTokenizer>(json, source);
}

}  // namespace attend::tokenizers
