// Regular expressions match the same characters as in `tokenizers`, independent of Oniguruma's Unicode
// version.
#include "tokenizers/text/pattern.h"

#include <attend/error.h>

#include "expect_error.h"

#include <gtest/gtest.h>

namespace attend::tokenizers {
namespace {

std::size_t matches(const std::string& expression, std::string_view text) {
  std::vector<TextSpan> found;
  Pattern::regex(expression, "test").find_all(text, found);
  return found.size();
}

constexpr const char* kKiratRai = "\xF0\x96\xB5\xA1";     // U+16D61, a letter of Unicode 16
constexpr const char* kExtensionH = "\xF0\xB1\x8D\x90";   // U+31350, a Chinese character of Unicode 15
constexpr const char* kShakingFace = "\xF0\x9F\xAB\xA8";  // U+1FAE8, an emoji of Unicode 15
constexpr const char* kKawiTwo = "\xF0\x91\xBD\x92";      // U+11F52, a digit of Unicode 15

TEST(Pattern, KnowsLettersOfANewerUnicode) {
  for (const char* letter : {kKiratRai, kExtensionH, "a"}) {
    for (const char* expression :
         {"\\w", "\\p{L}", "[\\w]", "[^\\W]", "\\p{Letter}", "\\p{Lo}|a", "[\\p{L}\\d]", "(?i)\\p{L}"})
      EXPECT_EQ(matches(expression, letter), 1U) << expression << " " << letter;
    for (const char* expression : {"\\W", "\\P{L}", "\\p{^L}", "[^\\p{L}]", "\\d", "\\p{P}"})
      EXPECT_EQ(matches(expression, letter), 0U) << expression << " " << letter;
  }
  EXPECT_EQ(matches("\\p{Han}", kExtensionH), 1U);
  EXPECT_EQ(matches("\\p{S}", kShakingFace), 1U);
  EXPECT_EQ(matches("\\p{Nd}", kKawiTwo), 1U);
  EXPECT_EQ(matches("\\d", kKawiTwo), 1U);
  EXPECT_EQ(matches("\\D", kKawiTwo), 0U);
}

TEST(Pattern, LeavesBackslashesAsTheyAre) {
  EXPECT_EQ(matches("\\\\w", "\\w"), 1U);
  EXPECT_EQ(matches("\\\\w", "a"), 0U);
  EXPECT_EQ(matches("\\\\\\w", "\\a"), 1U);
  EXPECT_ERROR("'a\\' is not a regular expression", Pattern::regex("a\\", "test"));
}

}  // namespace
}  // namespace attend::tokenizers
