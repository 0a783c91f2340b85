#include <attend/tokenizer.h>

#include "formats/json/json.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// Settings for long and short texts from a tokenizer's last use have no effect.
TEST(TokenizerPair, DoesNotTruncateOrPad) {
  const Json file = {
      {"version", "1.0"},
      {"truncation",
       {{"direction", "Right"}, {"max_length", 2}, {"strategy", "LongestFirst"}, {"stride", 0}}},
      {"padding",
       {{"strategy", "BatchLongest"},
        {"direction", "Right"},
        {"pad_to_multiple_of", nullptr},
        {"pad_id", 0},
        {"pad_type_id", 0},
        {"pad_token", "no"}}},
      {"added_tokens", Json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
      {"post_processor", nullptr},
      {"decoder", nullptr},
      {"model", {{"type", "WordLevel"}, {"vocab", {{"no", 0}, {"yes", 1}}}, {"unk_token", "no"}}}};
  const TemporaryDirectory directory;
  directory.file("tokenizer.json", file.dump());
  const std::vector<std::string> texts = {"yes yes yes", "yes"};
  const auto ids = [&](const Tokenizer& tokenizer) {
    std::vector<std::vector<TokenId>> all;
    for (const Encoding& encoding : tokenizer.encode_batch(texts)) all.push_back(encoding.ids);
    return all;
  };
  using Ids = std::vector<std::vector<TokenId>>;
  EXPECT_EQ(ids(Tokenizer::from_file(directory.path())), (Ids{{1, 1}, {1, 0}}));
  const TokenizerPair pair = TokenizerPair::from_file(directory.path());
  EXPECT_EQ(ids(*pair.source), (Ids{{1, 1, 1}, {1}}));
  EXPECT_EQ(ids(*pair.target), (Ids{{1, 1, 1}, {1}}));
}

}  // namespace
}  // namespace attend
