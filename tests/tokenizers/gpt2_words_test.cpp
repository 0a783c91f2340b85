// The hand-written scanner against its regular expression, run by Oniguruma.
#include "tokenizers/text/gpt2_words.h"

#include "base/utf8.h"
#include "tokenizers/text/pattern.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace attend::tokenizers {
namespace {

using Words = std::vector<std::string>;

Words scanned(std::string_view text) {
  Words words;
  split_gpt2_words(
      text, [&](std::size_t begin, std::size_t end) { words.emplace_back(text.substr(begin, end - begin)); });
  return words;
}

TEST(Gpt2Words, CutsWhereTheExpressionCuts) {
  const Pattern pattern =
      Pattern::regex(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", "test");
  // Letters, numbers, symbols, white space and contractions in all combinations; only old code points,
  // because Oniguruma's Unicode version may be older than ours.
  const std::vector<std::string> parts = {
      "a", "Zz", "ß",  "ж",   "語",  "각",   "1",      "42",     "½",      "Ⅻ",  "٣",   ".",    "!?",
      "'", "'s", "'t", "'re", "'ve", "'m",   "'ll",    "'d",     "'S",     "'r", "'l",  "🙂", "\u0301",
      " ", " ",  "  ", "\n",  "\t",  "\r\n", "\u00A0", "\u3000", "\u2028", "_",  "\x01"};
  std::mt19937 random(7);
  std::vector<TextSpan> matches;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (auto length = random() % 12; length > 0; --length) text += parts[random() % parts.size()];
    pattern.find_all(text, matches);
    Words expected;
    for (const TextSpan& match : matches)
      expected.push_back(text.substr(match.begin, match.end - match.begin));
    ASSERT_EQ(scanned(text), expected) << text;
  }
}

TEST(Gpt2Words, LosesNothing) {
  std::string text;
  for (char32_t c = 1; c < 0x3000; c += 7) append_utf8(text, c);
  std::string joined;
  for (const std::string& word : scanned(text)) joined += word;
  EXPECT_EQ(joined, text);
}

}  // namespace
}  // namespace attend::tokenizers
