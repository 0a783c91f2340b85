// A step of transformers' slow tokenizers that `tokenizers` does otherwise: accents are the code points with
// a combining class, not all marks.
#include "tokenizers/normalizer.h"

namespace attend::tokenizers {
namespace {

class StripCombining : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    if (unicode::is_ascii(text.text())) return;
    text.filter([](char32_t c) { return unicode::combining_class(c) == 0; });
  }
};

}  // namespace

std::unique_ptr<Normalizer> make_slow_strip_accents() {
  return std::make_unique<StripCombining>();
}

}  // namespace attend::tokenizers
