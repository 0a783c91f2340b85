// SentencePiece's rules as `tokenizers` applies them: to whole grapheme clusters (Unicode Standard Annex #29)
// of less than six bytes, else to single code points. A rule replaces everything that it is applied to, even
// if it matches only a part. O(n).
#include "base/base64.h"
#include "base/error.h"
#include "tokenizers/steps/normalizer.h"
#include "tokenizers/text/charsmap.h"

#include <algorithm>

#include <utf8proc.h>

namespace attend::tokenizers {
namespace {

using unicode::Step;

// Where the grapheme cluster that begins at `at` ends.
std::size_t end_of_grapheme(std::string_view text, std::size_t at) {
  utf8proc_int32_t state = 0;
  auto [before, size] = unicode::decode(text.data() + at);
  for (at += size; at < text.size(); at += size) {
    const auto [next, next_size] = unicode::decode(text.data() + at);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                         static_cast<utf8proc_int32_t>(next), &state))
      break;
    before = next;
    size = next_size;
  }
  return at;
}

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(Charsmap rules) : rules_(std::move(rules)) {}

  void apply(NormalizedText& text) const override {
    constexpr std::size_t short_grapheme = 6;  // bytes
    const std::string& old = text.text();
    std::vector<Step> steps;
    steps.reserve(old.size());
    bool changed = false;
    const auto replace = [&](std::string_view part) {
      const auto rule = rules_.find_shortest(part);
      if (rule) append(part, rule->replacement, steps);
      changed = changed || rule;
      return rule.has_value();
    };
    for (std::size_t at = 0; at < old.size();) {
      const std::size_t end = end_of_grapheme(old, at);
      const std::string_view grapheme = std::string_view(old).substr(at, end - at);
      at = end;
      if (grapheme.size() < short_grapheme && replace(grapheme)) continue;
      for (std::size_t i = 0; i < grapheme.size();) {
        const auto [c, size] = unicode::decode(grapheme.data() + i);
        if (!replace(grapheme.substr(i, size))) steps.push_back({c, 0});
        i += size;
      }
    }
    if (changed) text.rewrite(steps);
  }

 private:
  // Characters replace each other one by one as far as possible; surplus ones are inserted after, or dropped
  // with the last one. If there is nothing before dropped characters, they are dropped from the end instead,
  // as in `tokenizers`.
  static void append(std::string_view part, std::string_view replacement, std::vector<Step>& steps) {
    const auto surplus = static_cast<std::int32_t>(unicode::count(replacement)) -
                         static_cast<std::int32_t>(unicode::count(part));
    for (std::size_t at = 0; at < replacement.size();) {
      const auto [c, size] = unicode::decode(replacement.data() + at);
      steps.push_back({c, 0});
      at += size;
    }
    if (surplus > 0)
      std::for_each(steps.end() - surplus, steps.end(), [](Step& step) { step.change = 1; });
    else if (surplus < 0 && !steps.empty())
      steps.back().change += surplus;
  }

  Charsmap rules_;
};

}  // namespace

std::unique_ptr<Normalizer> make_precompiled_normalizer(const Json& json, const std::string& source) {
  const std::string field = source + ".precompiled_charsmap";
  const auto bytes = decode_base64(Fields(json, source).text({"precompiled_charsmap"}));
  if (!bytes) fail("{}: expected base64", field);
  return std::make_unique<Precompiled>(Charsmap(*bytes, field));
}

}  // namespace attend::tokenizers
