// Moses's detokenization rules for English, as in sacremoses: which words have no space before or after them.
#include "base/python_text.h"
#include "base/utf8.h"
#include "tokenizers/steps/moses.h"
#include "tokenizers/text/clean_up.h"

#include <algorithm>
#include <map>
#include <utility>

namespace attend::tokenizers {
namespace {

using View = std::u32string_view;

template <class Ranges>
bool is_in(const Ranges& ranges, char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](const auto& range) { return range.first <= c && c <= range.second; });
}

bool is_east_asian(char32_t c) {
  static constexpr std::pair<char32_t, char32_t> ranges[] = {
      {0x1100, 0x11FF},   {0x2E80, 0xA4CF},   {0xA840, 0xA87F},  {0xAC00, 0xD7AF},
      {0xF900, 0xFAFF},   {0xFE30, 0xFE4F},   {0xFF65, 0xFFDC},  {0x17000, 0x18AFF},
      {0x1B000, 0x1B12F}, {0x1B170, 0x1B2FF}, {0x20000, 0x2FFFF}};
  return is_in(ranges, c);
}

// Currency signs and other opening characters.
bool opens(char32_t c) {
  static constexpr std::pair<char32_t, char32_t> currencies[] = {
      {0x24, 0x24},     {0xA2, 0xA5},     {0x58F, 0x58F},   {0x60B, 0x60B},   {0x9F2, 0x9F3},
      {0x9FB, 0x9FB},   {0xAF1, 0xAF1},   {0xBF9, 0xBF9},   {0xE3F, 0xE3F},   {0x17DB, 0x17DB},
      {0x20A0, 0x20BD}, {0xA838, 0xA838}, {0xFDFC, 0xFDFC}, {0xFE69, 0xFE69}, {0xFF04, 0xFF04},
      {0xFFE0, 0xFFE1}, {0xFFE5, 0xFFE6}};
  return is_in(currencies, c) || View(U"([{\u00BF\u00A1").find(c) != View::npos;
}

bool consists_of(View word, bool (*of_class)(char32_t)) {
  return std::all_of(word.begin(), word.end(), of_class);
}
bool closes(char32_t c) {
  return View(U",.?!:;\\%}])").find(c) != View::npos;
}
bool quotes(char32_t c) {
  return View(U"'\"\u201E\u201C`").find(c) != View::npos;
}
bool quotes_twice(char32_t c) {
  return View(U"\u201E\u201C\u201D").find(c) != View::npos;
}

class MosesDecoder : public Decoder {
 public:
  explicit MosesDecoder(MosesJoining joining) : joining_(std::move(joining)) {}

  void apply(std::vector<std::string>& tokens) const override {
    std::string text = " ";
    if (joining_.end_of_word.empty()) {
      for (const std::string& token : tokens) text += token + ' ';
    } else {
      std::string parts;
      for (const std::string& token : tokens) parts += part_of_word(token);
      for (const std::string_view word : split_words(parts)) text += std::string(word) + ' ';
    }
    replace_all(text, " @-@ ", "-");
    unescape(text);
    text = joined(text);
    if (joining_.join_numbers) {
      replace_all(text, " @,@ ", ",");
      replace_all(text, " @.@ ", ".");
    }
    tokens = {std::move(text)};
  }
  std::string in_the_middle(std::string token) const override {
    if (joining_.end_of_word.empty()) return " " + token;
    token = part_of_word(std::move(token));
    unescape(token);
    return token;
  }

 private:
  std::string part_of_word(std::string token) const {
    replace_all(token, joining_.end_of_word, " ");
    return token;
  }

  static void unescape(std::string& text) {
    static constexpr std::pair<const char*, const char*> escapes[] = {
        {"&bar;", "|"},   {"&#124;", "|"}, {"&lt;", "<"},  {"&gt;", ">"},  {"&bra;", "["}, {"&ket;", "]"},
        {"&quot;", "\""}, {"&apos;", "'"}, {"&#91;", "["}, {"&#93;", "]"}, {"&amp;", "&"}};
    for (const auto& [from, to] : escapes) replace_all(text, from, to);
  }

  static std::string joined(const std::string& text) {
    std::map<std::u32string, int> quotes_seen;
    std::string result;
    std::u32string before;
    bool spaced = false;  // whether a space comes before the next word
    for (const std::string_view word : split_words(text)) {
      const std::u32string letters = decode_utf8(word);
      bool space_before = spaced, space_behind = true;
      if (is_east_asian(letters[0])) {
        if (!before.empty() && is_east_asian(before.back())) space_before = false;
      } else if (consists_of(letters, opens)) {
        space_behind = false;
      } else if (consists_of(letters, closes) || (!before.empty() && letters.size() > 1 &&
                                                  letters[0] == U'\'' && is_moses_letter(letters[1]))) {
        space_before = false;
      } else if (consists_of(letters, quotes)) {
        int& seen = quotes_seen[consists_of(letters, quotes_twice) ? U"\"" : letters];
        const bool possessive = letters == U"'" && !before.empty() && before.back() == U's';
        if (seen % 2 == 0 && !possessive) {
          space_behind = false;
          ++seen;
        } else {
          space_before = false;
          if (seen % 2 != 0) ++seen;
        }
      }
      if (space_before) result += ' ';
      result += word;
      spaced = space_behind;
      before = letters;
    }
    return result;
  }

  MosesJoining joining_;
};

}  // namespace

std::unique_ptr<Decoder> make_moses_decoder(MosesJoining joining) {
  return std::make_unique<MosesDecoder>(std::move(joining));
}

}  // namespace attend::tokenizers
