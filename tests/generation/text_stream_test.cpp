#include "generation/text_stream.h"

#include "generation/tokenizers.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(TextStream, WholeCharactersOnly) {
  const TemporaryDirectory directory;
  const Tokenizer tokenizer = byte_tokenizer(directory);
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.put(0), "a");
  EXPECT_EQ(stream.put(2), "");
  EXPECT_EQ(stream.put(3), "");
  EXPECT_EQ(stream.put(4), "\u20ac");
  EXPECT_EQ(stream.put(5), "");  // special
  EXPECT_EQ(stream.put(1), "b");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, IncompleteCharactersComeAtTheEnd) {
  const TemporaryDirectory directory;
  const Tokenizer tokenizer = byte_tokenizer(directory);
  TextStream stream(tokenizer, {1, 1});
  EXPECT_EQ(stream.put(0), "a");
  EXPECT_EQ(stream.put(2), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
}

TEST(TextStream, ContinuesAfterThePrompt) {
  const TemporaryDirectory directory;
  const Tokenizer tokenizer = byte_tokenizer(directory);
  TextStream stream(tokenizer, {0, 2, 3, 4});
  EXPECT_EQ(stream.put(1), "b");
  stream.add(0);
  stream.add(2);
  EXPECT_EQ(stream.finish(), "a\uFFFD");
}

}  // namespace
}  // namespace attend
