// Pre-tokenizers that split at matches: Split, Punctuation, Digits, CharDelimiterSplit.
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/steps/component.h"
#include "tokenizers/steps/pre_tokenizer.h"
#include "tokenizers/text/pattern.h"
#include "tokenizers/text/split.h"

namespace attend::tokenizers {
namespace {

// Find is a function find(text, matches), like Pattern::find_all.
template <class Find>
class Splitter : public PreTokenizer {
 public:
  Splitter(Find find, SplitBehavior behavior, bool invert = false)
      : find_(std::move(find)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& pieces) const override {
    std::vector<TextSpan> matches;
    std::vector<SplitPart> parts;
    pieces.split([&](std::string_view text, auto emit) {
      find_(text, matches);
      list_parts(text.size(), matches, invert_, parts);
      emit_parts(parts, behavior_, emit);
    });
  }

 private:
  Find find_;
  SplitBehavior behavior_;
  bool invert_;
};

// Every code point for which `matches` is true is a separate match.
template <class Matches>
std::unique_ptr<PreTokenizer> split_at(Matches matches, SplitBehavior behavior) {
  const auto find = [matches](std::string_view text, std::vector<TextSpan>& found) {
    found.clear();
    for (std::size_t at = 0; at < text.size();) {
      const auto [c, size] = unicode::decode(text.data() + at);
      if (matches(c))
        found.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + size)});
      at += size;
    }
  };
  return std::make_unique<Splitter<decltype(find)>>(find, behavior);
}

}  // namespace

std::unique_ptr<PreTokenizer> make_split_pre_tokenizer(const Json& json, const std::string& source) {
  const Pattern pattern = Pattern::from_json(component_field(json, "pattern", source), source + ".pattern");
  const auto find = [pattern](std::string_view text, std::vector<TextSpan>& matches) {
    pattern.find_all(text, matches);
  };
  return std::make_unique<Splitter<decltype(find)>>(find, read_split_behavior(json, source),
                                                    Fields(json, source).flag({"invert"}, false));
}

std::unique_ptr<PreTokenizer> make_punctuation_pre_tokenizer(const Json& json, const std::string& source) {
  return split_at([](char32_t c) { return unicode::is(c, unicode::punctuation); },
                  read_split_behavior(json, source, "Isolated"));
}

std::unique_ptr<PreTokenizer> make_digits_pre_tokenizer(const Json& json, const std::string& source) {
  const bool individual = Fields(json, source).flag({"individual_digits"}, false);
  return split_at([](char32_t c) { return unicode::is(c, unicode::numeric); },
                  individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
}

std::unique_ptr<PreTokenizer> make_delimiter_pre_tokenizer(const Json& json, const std::string& source) {
  const std::string delimiter = Fields(json, source).text({"delimiter"});
  if (unicode::count(delimiter) != 1)
    fail("{}: delimiter is '{}', expected one character", source, delimiter);
  const char32_t wanted = decode_utf8(delimiter, 0).value;
  return split_at([wanted](char32_t c) { return c == wanted; }, SplitBehavior::removed);
}

}  // namespace attend::tokenizers
