// Steps of transformers' slow tokenizers that `tokenizers` does otherwise: accents are the code points with a
// combining class, not all marks; and code points that are not assigned are dropped like control characters.
#include "base/python_text.h"
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

class DropOther : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    text.filter([](char32_t c) { return c == '\t' || c == '\n' || c == '\r' || !is_other(c); });
  }
};

}  // namespace

std::unique_ptr<Normalizer> make_slow_strip_accents() {
  return std::make_unique<StripCombining>();
}

std::unique_ptr<Normalizer> make_slow_drop_other() {
  return std::make_unique<DropOther>();
}

}  // namespace attend::tokenizers
