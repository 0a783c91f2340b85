// Steps of transformers' slow tokenizers that `tokenizers` does otherwise: accents are the code points with a
// combining class, not all marks; code points that are not assigned are dropped like control characters; and
// capital sigma at the end of a word becomes another small letter than elsewhere.
#include "base/python_text.h"
#include "base/utf8.h"
#include "tokenizers/normalizer.h"

namespace attend::tokenizers {
namespace {

class StripCombining : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    if (unicode::is_ascii(text.text())) return;
    text.filter([](char32_t c) { return combining_class(c) == 0; });
  }
};

class LowercaseWords : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    constexpr char32_t sigma = U'\u03a3', small_sigma = U'\u03c3', final_sigma = U'\u03c2';
    const std::u32string given = decode_utf8(text.text());
    if (given.find(sigma) == given.npos) return lowercase(text);
    std::vector<unicode::Step> steps;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i] == sigma)
        steps.push_back({is_final_sigma(given, i) ? final_sigma : small_sigma, 0});
      else
        unicode::append_lowercase(given[i], steps);
    }
    text.rewrite(steps);
  }
};

}  // namespace

std::unique_ptr<Normalizer> make_slow_strip_accents() {
  return std::make_unique<StripCombining>();
}

std::unique_ptr<Normalizer> make_slow_lowercase() {
  return std::make_unique<LowercaseWords>();
}

}  // namespace attend::tokenizers
