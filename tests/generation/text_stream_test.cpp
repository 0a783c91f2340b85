#include "generation/text_stream.h"

#include "formats/json.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// Byte-level, one token a byte: 'a', 'b', and the three bytes of the euro sign, E2 82 AC, as byte-level BPE
// spells them.
Tokenizer bytes(const TemporaryDirectory& directory) {
  const Json json = {
      {"version", "1.0"},
      {"added_tokens", Json::array({{{"id", 5},
                                     {"content", "<end>"},
                                     {"special", true},
                                     {"single_word", false},
                                     {"lstrip", false},
                                     {"rstrip", false},
                                     {"normalized", false}}})},
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}},
      {"post_processor", nullptr},
      {"decoder",
       {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}},
      {"model",
       {{"type", "BPE"},
        {"vocab", {{"a", 0}, {"b", 1}, {"\u00e2", 2}, {"\u0124", 3}, {"\u00ac", 4}, {"<end>", 5}}},
        {"merges", Json::array()}}}};
  return Tokenizer::from_file(directory.file("tokenizer.json", json.dump()));
}

TEST(TextStream, WholeCharactersOnly) {
  const TemporaryDirectory directory;
  const Tokenizer tokenizer = bytes(directory);
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.put(0), "a");
  EXPECT_EQ(stream.put(2), "");
  EXPECT_EQ(stream.put(3), "");
  EXPECT_EQ(stream.put(4), "\u20ac");
  EXPECT_EQ(stream.put(5), "");  // special
  EXPECT_EQ(stream.put(1), "b");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, WhatNeverBecomesWholeComesAtTheEnd) {
  const TemporaryDirectory directory;
  const Tokenizer tokenizer = bytes(directory);
  TextStream stream(tokenizer, {1, 1});
  EXPECT_EQ(stream.put(0), "a");
  EXPECT_EQ(stream.put(2), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
}

TEST(TextStream, GoesOnBehindThePrompt) {
  const TemporaryDirectory directory;
  const Tokenizer tokenizer = bytes(directory);
  TextStream stream(tokenizer, {0, 2, 3, 4});
  EXPECT_EQ(stream.put(1), "b");
  stream.add(0);
  stream.add(2);
  EXPECT_EQ(stream.finish(), "a\uFFFD");
}

}  // namespace
}  // namespace attend
