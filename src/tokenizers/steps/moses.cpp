#include "tokenizers/steps/moses.h"

#include "base/error.h"
#include "base/python_text.h"
#include "tokenizers/text/letter_rules.h"
#include "tokenizers/text/moses_characters.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <utf8proc.h>

namespace attend::tokenizers {
namespace {

bool is_in(std::span<const moses::LetterRange> ranges, char32_t c) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](char32_t value, const auto& range) { return value < range.first; });
  if (after == ranges.begin()) return false;
  const moses::LetterRange& range = *(after - 1);
  return c <= range.last && (c - range.first) % range.step == 0;
}

// The character classes in the rules.
bool letter(char32_t c) {
  return is_in(moses::letters, c);
}
bool not_letter(char32_t c) {
  return !letter(c);
}
bool number(char32_t c) {
  return is_in(moses::numbers, c);
}
bool not_number(char32_t c) {
  return !number(c);
}
bool neither(char32_t c) {
  return !letter(c) && !number(c);
}
bool word(char32_t c) {
  return letter(c) || is_in(moses::digits, c);
}
bool digit(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND;
}
bool point(char32_t c) {
  return c == U',' || c == U'.';
}
bool closing(char32_t c) {
  return std::u32string_view(U".!:?;,").find(c) != std::u32string_view::npos;
}
bool symbol(char32_t c) {  // always a separate word
  return !word(c) && !is_space(c) && std::u32string_view(U".'`,-").find(c) == std::u32string_view::npos;
}

// Wide full stops include the white space after them.
void replace_wide(Letters& text) {
  Letters result;
  bool after_stop = false;
  for (const Letter& item : text) {
    if (after_stop && is_space(item.value)) continue;
    after_stop = item.value == U'。' || item.value == U'．';
    if (after_stop) {
      result.push_back({U'.', item.source});
      result.push_back({U' ', item.source});
    } else if (item.value >= U'０' && item.value <= U'９') {
      result.push_back({item.value - U'０' + U'0', item.source});
    } else {
      result.push_back(item);
    }
  }
  text.swap(result);
  static constexpr Replacement table[] = {
      {U'，', ","}, {U'、', ","},  {U'”', "\""},  {U'“', "\""}, {U'∶', ":"},  {U'：', ":"},
      {U'？', "?"}, {U'《', "\""}, {U'》', "\""}, {U'）', ")"}, {U'！', "!"}, {U'（', "("},
      {U'；', ";"}, {U'」', "\""}, {U'「', "\""}, {U'～', "~"}, {U'’', "'"},  {U'…', "..."},
      {U'━', "-"},  {U'〈', "<"},  {U'〉', ">"},  {U'【', "["}, {U'】', "]"}, {U'％', "%"}};
  replace(table, text);
}

// English typography: "a full stop", becomes "a full stop," and so on.
void move_quote_behind_points(Letters& text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at].value != U'"') continue;
    for (; at + 1 < text.size() && point(text[at + 1].value); ++at) std::swap(text[at], text[at + 1]);
  }
}

void normalize_punctuation(Letters& text) {
  static const std::vector<Rule> spaces = {{{U'\r'}, ""}, {{U'('}, " ("}, {{U')'}, ") "}};
  rewrite(spaces, text);
  join_spaces(text);
  static const std::vector<Rule> brackets = {
      {{U')', U' ', closing}, "02"}, {{U'(', U' '}, "0"}, {{U' ', U')'}, "1"}, {{digit, U' ', U'%'}, "02"},
      {{U' ', U':'}, "1"},           {{U' ', U';'}, "1"}, {{U'`'}, "'"},       {{U'\'', U'\''}, " \" "}};
  rewrite(brackets, text);
  static constexpr Replacement quotes[] = {
      {U'„', "\""}, {U'“', "\""}, {U'”', "\""}, {U'–', "-"}, {U'—', " - "}};
  replace(quotes, text);
  join_spaces(text);
  static constexpr Replacement apostrophes[] = {{U'´', "'"}, {U'‘', "'"}, {U'‚', "'"}, {U'’', "'"}};
  replace(apostrophes, text);
  // No-break spaces are inside French quotes and before French punctuation.
  constexpr char32_t space = U'\u00a0';
  static const std::vector<Rule> french = {
      {{U'\'', U'\''}, "\""},       {{U'…'}, "..."},      {{space, U'«', space}, "\""},
      {{U'«', space}, "\""},        {{U'«'}, "\""},       {{space, U'»', space}, "\""},
      {{space, U'»'}, "\""},        {{U'»'}, "\""},       {{space, U'%'}, "1"},
      {{U'n', U'º', space}, "01 "}, {{space, U':'}, "1"}, {{space, U'º', U'C'}, " 12"},
      {{space, U'c', U'm'}, " 12"}, {{space, U'?'}, "1"}, {{space, U'!'}, "1"},
      {{space, U';'}, "1"},         {{U',', space}, "0 "}};
  rewrite(french, text);
  join_spaces(text);
  move_quote_behind_points(text);
  static const Rule thousands{{digit, space, digit}, "0.2"};
  rewrite(thousands, text);
  strip(text);
}

// Words that end in a full stop without ending a sentence.
bool is_abbreviation(std::u32string_view token) {
  static constexpr std::u32string_view list =
      U" Mr Mrs Ms Mlle Mme Messrs Msgr MR MRS MS MM Dr Drs DR Prof Hon Rev rev Sr St Rt Hr Bart "
      U"Adm Brig Capt Cmdr Col Comdr Corp Cpl Ens Gen Lt Maj Op Ord Pfc Pvt Sfc Sgt Insp Supt Surg "
      U"Gov Rep Reps Res Sen Sens Con Asst Bldg Bros Hosp Adj Adv Ph Rs Nos Nr v vs "
      U"Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec ";
  if (token.size() == 1 && token[0] >= U'A' && token[0] <= U'Z') return true;
  return list.find(U' ' + std::u32string(token) + U' ') != list.npos;
}

// The same only before a number.
bool is_abbreviation_before_number(std::u32string_view token) {
  return token == U"No" || token == U"Art" || token == U"pp";
}

// Separates the full stop at the end of a word, unless a rule says that no sentence ends there.
void split_full_stops(Letters& text) {
  Letters result;
  for (std::size_t begin = 0; begin < text.size();) {
    if (is_space(text[begin].value)) {
      result.push_back(text[begin++]);
      continue;
    }
    std::u32string token;
    std::size_t end = begin;
    for (; end < text.size() && !is_space(text[end].value); ++end) token += text[end].value;
    std::size_t next = end;
    while (next < text.size() && is_space(text[next].value)) ++next;
    const char32_t follows = next < text.size() ? text[next].value : U'\0';
    result.insert(result.end(), text.begin() + static_cast<std::ptrdiff_t>(begin),
                  text.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
    // Several full stops are already a separate word.
    if (token.size() < 2 || token.back() != U'.' || token.find_first_not_of(U'.') == token.npos) continue;
    token.pop_back();
    const bool has_points = token.find(U'.') != token.npos && std::any_of(token.begin(), token.end(), letter);
    const bool before_number = follows >= U'0' && follows <= U'9';
    if (has_points || is_abbreviation(token) || is_in(moses::small_letters, follows) ||
        (is_abbreviation_before_number(token) && before_number))
      continue;
    result.insert(result.end() - 1, {U' ', result.back().source});
  }
  text.swap(result);
}

// Puts spaces around runs of two or more full stops.
void set_apart_ellipses(Letters& text) {
  Letters result;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && text[end].value == U'.') ++end;
    const bool found = end - begin >= 2;
    if (end == begin) ++end;
    if (found) result.push_back({U' ', text[begin].source});
    result.insert(result.end(), text.begin() + static_cast<std::ptrdiff_t>(begin),
                  text.begin() + static_cast<std::ptrdiff_t>(end));
    if (found) result.push_back({U' ', text[end - 1].source});
    begin = end;
  }
  text.swap(result);
}

void tokenize(bool split_hyphens, Letters& text) {
  join(is_space, text);
  std::erase_if(text, [](const Letter& item) { return item.value < U' '; });
  strip(text);
  static const Rule symbols{{symbol}, " 0 "}, hyphens{{word, U'-', word}, "0 @1@ ", 1};
  rewrite(symbols, text);
  if (split_hyphens) rewrite(hyphens, text);
  set_apart_ellipses(text);
  static const std::vector<Rule> commas = {{{not_number, U','}, "0 1 "}, {{U',', not_number}, " 0 1"}};
  rewrite(commas, text);
  if (text.size() > 1 && text.back().value == U',' && number(text[text.size() - 2].value))
    text.insert(text.end() - 1, {U' ', text.back().source});
  static const std::vector<Rule> apostrophes = {{{not_letter, U'\'', not_letter}, "0 1 2"},
                                                {{neither, U'\'', letter}, "0 1 2"},
                                                {{letter, U'\'', not_letter}, "0 1 2"},
                                                {{letter, U'\'', letter}, "0 12"},
                                                {{number, U'\'', U's'}, "0 12"}};
  rewrite(apostrophes, text);
  split_full_stops(text);
  join(is_space, text);
  strip(text);
  // The end of a sentence in quotes.
  if (const std::size_t size = text.size();
      size > 1 && text[size - 2].value == U'.' && text[size - 1].value == U'\'') {
    text.insert(text.end() - 1, {U' ', text.back().source});
    text.insert(text.end() - 3, {U' ', text[size - 2].source});
  }
  join(is_space, text);
  strip(text);
}

void escape_xml(Letters& text) {
  static constexpr std::pair<char32_t, std::string_view> names[] = {
      {U'&', "&amp;"},   {U'|', "&#124;"}, {U'<', "&lt;"},  {U'>', "&gt;"},
      {U'\'', "&apos;"}, {U'"', "&quot;"}, {U'[', "&#91;"}, {U']', "&#93;"}};
  Letters result;
  for (const Letter& item : text) {
    const auto name = std::find_if(std::begin(names), std::end(names),
                                   [&](const auto& pair) { return pair.first == item.value; });
    if (name == std::end(names))
      result.push_back(item);
    else
      for (const char c : name->second) result.push_back({static_cast<char32_t>(c), item.source});
  }
  text.swap(result);
}

class Moses : public Normalizer {
 public:
  explicit Moses(const MosesSteps& steps) : steps_(steps) {}

  void apply(NormalizedText& text) const override {
    if (steps_.lowercase) lowercase(text);
    Letters letters = letters_of(text);
    if (steps_.replace_wide) replace_wide(letters);
    if (steps_.clean_punctuation) normalize_punctuation(letters);
    if (steps_.drop_unprintable)
      std::erase_if(letters, [](const Letter& item) { return is_other(item.value); });
    tokenize(steps_.split_hyphens, letters);
    static const Rule numbers{{digit, point, digit}, "0 @1@ ", 1};
    if (steps_.split_numbers) rewrite(numbers, letters);
    if (steps_.escape) escape_xml(letters);
    text = text_of(letters, text.source(), text.aligned());
    if (!steps_.strip_accents) return;
    normalize(text, unicode::Form::nfd);
    text.filter([](char32_t c) { return !is_nonspacing_mark(c); });
  }

 private:
  MosesSteps steps_;
};

}  // namespace

void check_moses_language(const Fields& config) {
  const std::string language = config.text({"language"}, "en");
  if (language == "en") return;
  const bool has_no_spaces = language == "zh" || language == "ja" || language == "th";
  fail("{}: language is '{}', expected 'en': {}", config.source(), language,
       has_no_spaces ? "finding words in it takes libraries that are not part of Attend"
                     : "of Moses's rules only those for English are here");
}

bool is_moses_letter(char32_t c) {
  return letter(c);
}

std::unique_ptr<Normalizer> make_moses_normalizer(const MosesSteps& steps) {
  return std::make_unique<Moses>(steps);
}

}  // namespace attend::tokenizers
