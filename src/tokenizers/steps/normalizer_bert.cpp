// BERT's clean-up (Devlin et al. 2018, arXiv:1810.04805, tokenization.py): drops control characters, makes
// white space plain spaces, separates ideographs, strips accents, lowercases.
#include "tokenizers/steps/normalizer.h"

#include <algorithm>
#include <optional>

namespace attend::tokenizers {
namespace {

using unicode::Step;

class BertNormalizer : public Normalizer {
 public:
  BertNormalizer(const Json& json, const std::string& source) {
    const Fields read(json, source);
    clean_ = read.flag({"clean_text"}, true);
    set_ideographs_apart_ = read.flag({"handle_chinese_chars"}, true);
    lowercase_ = read.flag({"lowercase"}, true);
    strip_accents_ = read.flag({"strip_accents"}, lowercase_);
  }

  void apply(NormalizedText& text) const override {
    if (unicode::is_ascii(text.text())) {
      apply_ascii(text);
      return;
    }
    if (clean_) clean(text);
    if (set_ideographs_apart_) set_ideographs_apart(text);
    if (strip_accents_) {
      normalize(text, unicode::Form::nfd);
      text.filter([](char32_t c) { return !unicode::is(c, unicode::nonspacing_mark); });
    }
    if (lowercase_) lowercase(text);
  }

 private:
  static bool is_dropped(char32_t c) {
    if (c == '\t' || c == '\n' || c == '\r') return false;
    return c == 0 || c == 0xFFFD || unicode::is(c, unicode::other);
  }

  void apply_ascii(NormalizedText& text) const {
    if (clean_) {
      const auto dropped = [](char byte) { return is_dropped(static_cast<unsigned char>(byte)); };
      if (std::any_of(text.text().begin(), text.text().end(), dropped))
        text.filter([](char32_t c) { return !is_dropped(c); });
      text.map_bytes([](unsigned char byte) { return byte >= '\t' && byte <= '\r' ? ' ' : byte; });
    }
    if (lowercase_) lowercase(text);
  }

  static void clean(NormalizedText& text) {
    text.filter([](char32_t c) { return !is_dropped(c); });
    std::vector<Step> steps;
    bool changed = false;
    for (std::size_t at = 0; at < text.text().size();) {
      const auto [c, size] = unicode::decode(text.text().data() + at);
      at += size;
      const bool space = unicode::is(c, unicode::whitespace);
      changed = changed || (space && c != ' ');
      steps.push_back({space ? U' ' : c, 0});
    }
    if (changed) text.rewrite(steps);
  }

  static void set_ideographs_apart(NormalizedText& text) {
    std::vector<Step> steps;
    bool changed = false;
    for (std::size_t at = 0; at < text.text().size();) {
      const auto [c, size] = unicode::decode(text.text().data() + at);
      at += size;
      if (unicode::is(c, unicode::ideograph)) {
        changed = true;
        steps.insert(steps.end(), {{' ', 0}, {c, 1}, {' ', 1}});
      } else {
        steps.push_back({c, 0});
      }
    }
    if (changed) text.rewrite(steps);
  }

  bool clean_, set_ideographs_apart_, strip_accents_, lowercase_;
};

}  // namespace

std::unique_ptr<Normalizer> make_bert_normalizer(const Json& json, const std::string& source) {
  return std::make_unique<BertNormalizer>(json, source);
}

}  // namespace attend::tokenizers
