#include "base/utf8.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

bool is_scalar(char32_t code_point) {
  return code_point < 0xD800 || (code_point >= 0xE000 && code_point <= 0x10FFFF);
}

TEST(Utf8, EveryCodePointThereAndBack) {
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (!is_scalar(code_point)) continue;
    std::string text = "a";
    append_utf8(text, code_point);
    const CodePoint decoded = decode_utf8(text, 1);
    ASSERT_EQ(decoded.value, code_point);
    ASSERT_EQ(decoded.size, text.size() - 1);
    ASSERT_FALSE(find_invalid_utf8(text)) << std::hex << static_cast<std::uint32_t>(code_point);
    ASSERT_EQ(repair_utf8(text), text);
  }
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("plain ASCII, more than eight bytes"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("more than eight bytes\x80"), 21u);
  EXPECT_EQ(find_invalid_utf8("ä\xC3"), 2u);             // cut off
  EXPECT_EQ(find_invalid_utf8("\xC0\xAF"), 0u);          // overlong
  EXPECT_EQ(find_invalid_utf8("\xE0\x9F\xBF"), 0u);      // overlong
  EXPECT_EQ(find_invalid_utf8("\xF0\x8F\xBF\xBF"), 0u);  // overlong
  EXPECT_EQ(find_invalid_utf8("a\xED\xA0\x80"), 1u);     // a surrogate
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0u);  // past U+10FFFF
  EXPECT_EQ(find_invalid_utf8("\xF5\x80\x80\x80"), 0u);  // no lead byte
  EXPECT_EQ(find_invalid_utf8("\xFE"), 0u);
}

// Expected values are those of Python 3.11: bytes.decode("utf-8", "replace").
TEST(Utf8, RepairsAsPythonDoes) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(repair_utf8("a\xFFz"), "a" + r + "z");
  EXPECT_EQ(repair_utf8("\xE2\x82"), r);  // one for a cut-off sequence
  EXPECT_EQ(repair_utf8("\xE2\x82z"), r + "z");
  EXPECT_EQ(repair_utf8("\xF0\x9F\x98\xF0\x9F\x98\x80"), r + "😀");
  EXPECT_EQ(repair_utf8("\xC0\x80"), r + r);
  EXPECT_EQ(repair_utf8("\xED\xA0\x80"), r + r + r);
  EXPECT_EQ(repair_utf8("\xF0\x80\x80\x80"), r + r + r + r);
  EXPECT_EQ(repair_utf8("\xF4\x90\x80\x80"), r + r + r + r);
  EXPECT_EQ(repair_utf8("\xE1\x80\xE1\x80\x80"), r + "\xE1\x80\x80");
}

}  // namespace
}  // namespace attend
