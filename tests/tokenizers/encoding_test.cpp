// The fields of an encoding, depending on the request.
#include <attend/tokenizer.h>

#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

void expect_types(const Encoding& found, const Encoding& all) {
  EXPECT_EQ(found.ids, all.ids);
  EXPECT_EQ(found.type_ids, all.type_ids);
  EXPECT_EQ(found.attention_mask, all.attention_mask);
  EXPECT_TRUE(found.tokens.empty() && found.offsets.empty() && found.word_ids.empty());
  ASSERT_EQ(found.overflowing.size(), all.overflowing.size());
  for (std::size_t i = 0; i < all.overflowing.size(); ++i)
    expect_types(found.overflowing[i], all.overflowing[i]);
}

TEST(Encoding, TypesAloneAreThoseOfTheWhole) {
  const std::string text = "The lamp is on the table, and nobody saw [MASK] the second door.",
                    pair = "A dog ran.";
  for (const char* name :
       {"bert_uncased", "bert_cased", "roberta", "gpt2", "llama", "unigram", "added_tokens"}) {
    Tokenizer tokenizer = Tokenizer::from_file(test_data() / "tokenizers" / name);
    for (const bool special : {true, false})
      for (const std::size_t length : {100, 7}) {
        SCOPED_TRACE(testing::Message() << name << " " << special << " " << length);
        const EncodeOptions all{.special_tokens = special, .truncation = Truncation{.max_length = length}};
        EncodeOptions types = all, ids = all;
        types.with_details = ids.with_details = false;
        types.with_types = true;
        expect_types(tokenizer.encode(text, types), tokenizer.encode(text, all));
        expect_types(tokenizer.encode_pair(text, pair, types), tokenizer.encode_pair(text, pair, all));
        const Encoding alone = tokenizer.encode_pair(text, pair, ids);
        EXPECT_EQ(alone.ids, tokenizer.encode_pair(text, pair, all).ids);
        EXPECT_TRUE(alone.type_ids.empty() && alone.overflowing.empty());
      }
  }
}

TEST(Encoding, PaddingFillsOnlyRequestedParts) {
  Tokenizer tokenizer = Tokenizer::from_file(test_data() / "tokenizers" / "bert_uncased");
  tokenizer.padding() = Padding{.length = 30, .left = true};
  expect_types(tokenizer.encode("a dog", {.with_details = false, .with_types = true}),
               tokenizer.encode("a dog"));
}

}  // namespace
}  // namespace attend
