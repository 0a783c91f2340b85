// DeBERTa-v2's slow tokenizer with split_by_punct: every punctuation mark, and every text between two, is a
// separate text before the model's rules are applied.
#include "base/python_text.h"
#include "tokenizers/steps/pre_tokenizer.h"

#include <utility>

namespace attend::tokenizers {
namespace {

class Punctuated : public PreTokenizer {
 public:
  explicit Punctuated(std::unique_ptr<Normalizer> rules) : rules_(std::move(rules)) {}

  void apply(Pieces& pieces) const override {
    pieces.split([](std::string_view text, auto emit) {
      std::size_t begin = 0;
      for (std::size_t at = 0; at < text.size();) {
        const auto [c, size] = unicode::decode(text.data() + at);
        if (is_punctuation(c)) {
          emit(begin, at);
          emit(at, at + size);
          begin = at + size;
        }
        at += size;
      }
      emit(begin, text.size());
    });
    pieces.rewrite([this](NormalizedText& text) { rules_->apply(text); });
  }

 private:
  std::unique_ptr<Normalizer> rules_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_punctuated_pre_tokenizer(std::unique_ptr<Normalizer> rules) {
  return std::make_unique<Punctuated>(std::move(rules));
}

}  // namespace attend::tokenizers
