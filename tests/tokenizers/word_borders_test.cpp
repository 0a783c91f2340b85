#include "tokenizers/sentencepiece/word_borders.h"

#include "tokenizers/text/ascii.h"

#include <string>

#include <gtest/gtest.h>

namespace attend::tokenizers {
namespace {

using Type = SentencePieceFile::Type;

std::vector<SentencePieceFile::Piece> pieces(std::initializer_list<const char*> texts) {
  std::vector<SentencePieceFile::Piece> result;
  for (const char* text : texts) result.push_back({text, 0, Type::normal});
  return result;
}

std::string words(const WordBorders& borders, std::string_view text) {
  std::string result;
  WordBorders::Words rest(borders, text);
  for (std::string_view word = rest.next(); !word.empty(); word = rest.next())
    result += (result.empty() ? "" : "|") + std::string(word);
  return result;
}

TEST(WordBorders, AreWhereNoPieceCrosses) {
  const WordBorders borders(pieces({"▁", "a", "b", ",", "▁ab", "b.", "é"}));
  ASSERT_TRUE(borders.any());
  EXPECT_EQ(words(borders, "▁ab,▁▁ab,,b.é"), "▁ab|,|▁▁ab|,|,|b.é");
  EXPECT_EQ(words(borders, "?!a?!"), "?!|a|?!");  // two characters that are not pieces become one unknown
                                                  // token
  EXPECT_EQ(words(borders, "’▁a’"), "’|▁a’");     // the first byte of ’ is also that of a space
  std::string text, expected;
  for (int i = 0; i < 100; ++i) {  // more than one block of 64 bytes
    text += "▁ab,";
    expected += i == 0 ? "▁ab|," : "|▁ab|,";
  }
  EXPECT_EQ(words(borders, text), expected);
}

TEST(WordBorders, AreNoneIfPiecesCrossWords) {
  EXPECT_FALSE(WordBorders(pieces({"▁", "a", "a▁a"})).any());
  EXPECT_FALSE(WordBorders(pieces({"a", "▁a"})).any());  // a space alone is unknown
}

TEST(Ascii, CountsTheFirstBytesOfAKind) {
  for (int c = 0; c < 256; ++c)
    for (std::size_t at = 0; at < 8; ++at) {
      std::string text(8, 'q');
      text[at] = static_cast<char>(c);
      const bool visible = c >= '!' && c <= '~', letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      EXPECT_EQ(ascii::count_visible(ascii::eight_bytes(text, 0)), visible ? 8 : at);
      EXPECT_EQ(ascii::count_letters(ascii::eight_bytes(text, 0)), letter ? 8 : at);
    }
  EXPECT_EQ(ascii::count_visible(ascii::eight_bytes("abc", 1)), 2);
}

}  // namespace
}  // namespace attend::tokenizers
