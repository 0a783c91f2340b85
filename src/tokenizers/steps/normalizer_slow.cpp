// Steps in which transformers' slow tokenizers differ from `tokenizers`: accents are code points with a
// combining class, not all marks; unassigned code points are dropped like control characters; capital sigma
// at the end of a word becomes final sigma; and letters of newer Unicode versions are lowercased as in
// Python.
#include "base/python_text.h"
#include "base/utf8.h"
#include "tokenizers/steps/normalizer.h"
#include "tokenizers/text/metaspace.h"
#include "tokenizers/text/pattern.h"

#include <utility>

namespace attend::tokenizers {
namespace {

class StripCombining : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    if (unicode::is_ascii(text.text())) return;
    text.filter([](char32_t c) { return combining_class(c) == 0; });
  }
};

// str.lower() of the whole text (by_words), or of each letter separately: then no sigma ends a word.
class PythonLowercase : public Normalizer {
 public:
  explicit PythonLowercase(bool by_words) : by_words_(by_words) {}

  void apply(NormalizedText& text) const override {
    if (unicode::is_ascii(text.text())) return lowercase(text);
    constexpr char32_t sigma = U'\u03a3', final_sigma = U'\u03c2', capital_dotted_i = U'\u0130';
    const std::u32string given = decode_utf8(text.text());
    std::vector<unicode::Step> steps;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i] == capital_dotted_i)
        unicode::append_lowercase(given[i], steps);
      else if (by_words_ && given[i] == sigma && is_final_sigma(given, i))
        steps.push_back({final_sigma, 0});
      else
        steps.push_back({attend::lowercase(given[i]), 0});
    }
    text.rewrite(steps);
  }

 private:
  bool by_words_;
};

// T5 and Llama with `legacy` false: the model adds no space before a text, but one is added before the whole
// text, and the spaces before a part of it become one. The unknown token, put before such a part while the
// rules are applied, keeps them.
class NewerSpaces : public Normalizer {
 public:
  NewerSpaces(std::unique_ptr<Normalizer> rules, std::string unknown, bool prefix)
      : rules_(std::move(rules)), unknown_(std::move(unknown)), prefix_(prefix) {
    NormalizedText alone(unknown_, {}, false);
    rules_->apply(alone);
    kept_ = unicode::count(alone.text());
  }

  void apply(NormalizedText& text) const override {
    std::vector<TextSpan> letters;
    Pattern::text(std::string(space_letter)).find_all(text.text(), letters);
    text.replace(letters, " ");
    if (prefix_ && text.source().begin == 0) text.prepend(space_letter);
    if (!text.text().starts_with(space_letter) && !text.text().starts_with(' ')) return rules_->apply(text);
    text.prepend(unknown_);
    rules_->apply(text);
    std::size_t place = 0;
    text.filter([&](char32_t) { return place++ >= kept_; });
  }

 private:
  std::unique_ptr<Normalizer> rules_;
  std::string unknown_;
  bool prefix_;
  std::size_t kept_;  // characters of the unknown token after the rules
};

}  // namespace

std::unique_ptr<Normalizer> make_newer_spaces(std::unique_ptr<Normalizer> rules, std::string unknown,
                                              bool prefix) {
  return std::make_unique<NewerSpaces>(std::move(rules), std::move(unknown), prefix);
}

std::unique_ptr<Normalizer> make_slow_strip_accents() {
  return std::make_unique<StripCombining>();
}

std::unique_ptr<Normalizer> make_slow_lowercase(bool by_words) {
  return std::make_unique<PythonLowercase>(by_words);
}

}  // namespace attend::tokenizers
