#include "base/file.h"
#include "formats/json/json.h"
#include "objectives/sequence_to_sequence.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// Words of a, b and c; "ab" and "abc" are tokens.
TokenizerPair letters() {
  const Json json = {{"model",
                      {{"type", "BPE"},
                       {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"abc", 4}}},
                       {"merges", {"a b", "ab c"}}}}};
  const TemporaryDirectory directory;
  return TokenizerPair::from_file(directory.file("tokenizer.json", json.dump()));
}

std::vector<std::int64_t> lengths(const Objective& objective) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < objective.examples(); ++i) all.push_back(objective.tokens(i));
  return all;
}

// As whole words, the texts have 4 and 8 of the 12 allowed tokens; split into letters, the longer ones have
// too many.
TEST(SequenceToSequence, CutsTheWordsOfAnEpochBySeedAndNumberAlone) {
  const TokenizerPair tokenizers = letters();
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) texts.push_back(i % 2 == 0 ? "abcabcabcabc" : "abcabcabcabcabcabcabcabc");
  const auto make = [&](double dropout) {
    return SequenceToSequence(tokenizers, texts, texts, 0, 12, dropout);
  };

  SequenceToSequence plain = make(0);
  const std::vector<std::int64_t> whole = lengths(plain);
  plain.begin_epoch(7, 1);
  EXPECT_EQ(lengths(plain), whole);

  SequenceToSequence run = make(0.3), resumed = make(0.3), other = make(0.3);
  for (std::int64_t epoch : {0, 1, 2}) run.begin_epoch(7, epoch);
  const std::vector<std::int64_t> third = lengths(run);
  resumed.begin_epoch(7, 2);
  EXPECT_EQ(lengths(resumed), third) << "a resumed run has not seen the epochs before";
  EXPECT_NE(third, whole);
  for (std::size_t i = 0; i < third.size(); ++i) {
    EXPECT_GE(third[i], whole[i]);
    EXPECT_LE(third[i], 12);
  }
  run.begin_epoch(7, 3);
  EXPECT_NE(lengths(run), third);
  other.begin_epoch(8, 2);
  EXPECT_NE(lengths(other), third);
}

TEST(SequenceToSequence, EncodesEachSideWithItsOwnTokenizer) {
  TokenizerPair pair = letters();
  const TemporaryDirectory directory;
  const Json json = {
      {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}}}, {"merges", Json::array()}}}};
  pair.target =
      std::make_shared<const Tokenizer>(Tokenizer::from_file(directory.file("tokenizer.json", json.dump())));
  const std::vector<std::string> texts{"abcabc"};
  EXPECT_EQ(SequenceToSequence(pair, texts, texts, 0, 12).tokens(0), 6) << "2 tokens and 6";
  std::swap(pair.source, pair.target);
  EXPECT_EQ(SequenceToSequence(pair, texts, texts, 0, 12).tokens(0), 6);
  pair.source = pair.target;
  EXPECT_EQ(SequenceToSequence(pair, texts, texts, 0, 12).tokens(0), 2);
}

}  // namespace
}  // namespace attend
