// BPE-dropout is random, so the tests check frequencies and that the text is unchanged.
#include <attend/tokenizer.h>

#include "base/file.h"
#include "formats/json/json.h"
#include "temporary_directory.h"

#include <cmath>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

namespace attend {
namespace {

Tokenizer with_dropout(double dropout) {
  const Json json = {{"model",
                      {{"type", "BPE"},
                       {"dropout", dropout},
                       {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"abc", 4}}},
                       {"merges", {"a b", "ab c"}}}}};
  const TemporaryDirectory directory;
  return Tokenizer::from_file(directory.file("tokenizer.json", json.dump()));
}

TEST(Dropout, PassesOverMergesAsOftenAsItSays) {
  constexpr int draws = 20000;
  constexpr double dropout = 0.3;
  const Tokenizer tokenizer = with_dropout(dropout);
  std::map<std::vector<TokenId>, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[tokenizer.encode("abc").ids];
  const std::map<std::vector<TokenId>, double> expected = {
      {{0, 1, 2}, dropout}, {{3, 2}, (1 - dropout) * dropout}, {{4}, (1 - dropout) * (1 - dropout)}};
  EXPECT_EQ(counts.size(), expected.size());
  for (const auto& [ids, probability] : expected) {
    const double deviation = std::sqrt(draws * probability * (1 - probability));
    EXPECT_NEAR(counts[ids], draws * probability, 5 * deviation) << ids.size();
  }
}

TEST(Dropout, NoneAndAllAreCertain) {
  EXPECT_EQ(with_dropout(0).encode("abc").ids, (std::vector<TokenId>{4}));
  EXPECT_EQ(with_dropout(1).encode("abc").ids, (std::vector<TokenId>{0, 1, 2}));
}

}  // namespace
}  // namespace attend
