#include "explain/readable_tokens.h"

#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// A byte-level tokenizer with only bytes and "lamp".
Tokenizer byte_level() {
  return Tokenizer::from_file(test_data() / "explain" / "byte_level.json");
}

TEST(ReadableTokens, CharactersInSeveralTokensStandWholeAtEach) {
  const Tokenizer tokenizer = byte_level();
  const Encoding encoding = tokenizer.encode("Zoë 🙂");
  const std::vector<std::int64_t> ids(encoding.ids.begin(), encoding.ids.end());
  const auto tokens = ReadableTokens(tokenizer).read(ids, &encoding);
  ASSERT_EQ(tokens.size(), 9U);  // Z, o, ë in 2, the space, the face in 4
  EXPECT_EQ(tokens[0].text, "Z");
  EXPECT_EQ(tokens[0].parts, 1);
  EXPECT_EQ(tokens[2].text, "ë");
  EXPECT_EQ(tokens[2].part, 1);
  EXPECT_EQ(tokens[3].text, "ë");
  EXPECT_EQ(tokens[3].part, 2);
  EXPECT_EQ(tokens[3].parts, 2);
  for (int part = 0; part < 4; ++part) {
    const ExplainedToken& token = tokens[static_cast<std::size_t>(5 + part)];
    EXPECT_EQ(token.text, "🙂");
    EXPECT_EQ(token.part, part + 1);
    EXPECT_EQ(token.parts, 4);
  }
}

TEST(ReadableTokens, BytesThatAreNoCharacterAreNumbers) {
  const Tokenizer tokenizer = byte_level();
  const ReadableTokens readable(tokenizer);
  const Encoding face = tokenizer.encode("🙂");
  EXPECT_EQ(readable.text(face.ids[0]), "‹bytes F0›");
  const std::vector<std::int64_t> broken = {face.ids[0], face.ids[2]};
  const auto tokens = readable.read(broken);
  EXPECT_EQ(tokens[0].text, "‹bytes F0›");
  EXPECT_EQ(tokens[1].text, "‹bytes 99›");
  EXPECT_EQ(readable.text(100000), "[100000]");
}

TEST(ReadableTokens, OnlyLettersOfOneWordGoOn) {
  const Tokenizer tokenizer = byte_level();
  const Encoding encoding = tokenizer.encode("ab ab");
  const std::vector<std::int64_t> ids(encoding.ids.begin(), encoding.ids.end());
  const auto tokens = ReadableTokens(tokenizer).read(ids, &encoding);
  ASSERT_EQ(tokens.size(), 5U);  // a b ␣ a b
  EXPECT_FALSE(tokens[0].continues);
  EXPECT_TRUE(tokens[1].continues);
  EXPECT_FALSE(tokens[2].continues);
  EXPECT_FALSE(tokens[3].continues);  // after its own space
  EXPECT_TRUE(tokens[4].continues);
}

}  // namespace
}  // namespace attend
