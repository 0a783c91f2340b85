// Two steps of transformers' slow tokenizers that `tokenizers` does otherwise: Python's str.lower() knows the
// final sigma, and accents are the code points with a combining class, not all marks.
#include "tokenizers/normalizer.h"

#include <vector>

namespace attend::tokenizers {
namespace {

using unicode::Step;

class StripCombining : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    if (unicode::is_ascii(text.text())) return;
    text.filter([](char32_t c) { return unicode::combining_class(c) == 0; });
  }
};

class PythonLowercase : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    end_words_with_final_sigma(text);
    lowercase(text);
  }

 private:
  static constexpr char32_t sigma = 0x3A3, final_sigma = 0x3C2;

  // A capital sigma is a final one if a letter stands before it and none behind it, not counting marks.
  static void end_words_with_final_sigma(NormalizedText& text) {
    if (text.text().find("\u03A3") == std::string::npos) return;
    std::vector<Step> steps;
    std::size_t open = SIZE_MAX;  // a sigma that nothing but marks has followed
    bool after_letter = false;
    const auto close = [&](bool final) {
      if (open != SIZE_MAX && final) steps[open].value = final_sigma;
      open = SIZE_MAX;
    };
    for (std::size_t at = 0; at < text.text().size();) {
      const auto [c, size] = unicode::decode(text.text().data() + at);
      at += size;
      if (!unicode::is(c, unicode::mark)) {
        const bool letter = unicode::is(c, unicode::letter);
        close(!letter);
        if (c == sigma && after_letter) open = steps.size();
        after_letter = letter;
      }
      steps.push_back({c, 0});
    }
    close(true);
    text.rewrite(steps);
  }
};

}  // namespace

std::unique_ptr<Normalizer> make_slow_strip_accents() {
  return std::make_unique<StripCombining>();
}

std::unique_ptr<Normalizer> make_slow_lowercase() {
  return std::make_unique<PythonLowercase>();
}

}  // namespace attend::tokenizers
