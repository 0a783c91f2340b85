#include "explain/units.h"

#include "explain/head_statistics.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

ExplainedSide side_of(const std::vector<std::string>& texts) {
  ExplainedSide side{.name = "text", .texts = {}, .tokens = {}};
  for (const std::string& text : texts)
    side.tokens.push_back({.text = text, .piece = text, .special = text.starts_with('[')});
  return side;
}

std::vector<std::int64_t> numbers_of(const ExplainedSide& side, std::int64_t ExplainedToken::*unit) {
  std::vector<std::int64_t> numbers;
  for (const ExplainedToken& token : side.tokens) numbers.push_back(token.*unit);
  return numbers;
}

using Numbers = std::vector<std::int64_t>;

TEST(Units, WordsBeginWithSpacesAndPunctuation) {
  ExplainedSide side =
      side_of({"[CLS]", " the", " lam", "ps", " burn", ".", " They", " do", "!", "[SEP]", "So"});
  number_units(side);
  EXPECT_EQ(numbers_of(side, &ExplainedToken::word), (Numbers{-1, 0, 1, 1, 2, 3, 4, 5, 6, -1, 7}));
  EXPECT_EQ(numbers_of(side, &ExplainedToken::sentence), (Numbers{-1, 0, 0, 0, 0, 0, 1, 1, 1, -1, 2}));
  EXPECT_EQ(sum_by_word(side, {9, 1, 2, 3, 0, 0, 0, 0, 0, 9, 4}),
            (std::vector<float>{1, 5, 0, 0, 0, 0, 0, 4}));
  EXPECT_EQ(sum_by_sentence(side, {9, 1, 2, 3, 0, 0, 7, 0, 0, 9, 4}), (std::vector<float>{6, 7, 4}));
}

TEST(Units, AMaskEndsAWordAndNoSentence) {
  ExplainedSide side = side_of({" the", "[MASK]", "s", " burn"});
  number_units(side);
  EXPECT_EQ(numbers_of(side, &ExplainedToken::word), (Numbers{0, -1, 1, 2}));
  EXPECT_EQ(numbers_of(side, &ExplainedToken::sentence), (Numbers{0, -1, 0, 0}));
}

TEST(Units, WordsAreTheTokenizersWhereItSays) {
  ExplainedSide side = side_of({"un", "like", "ly"});
  side.tokens[1].continues = side.tokens[2].continues = true;
  number_units(side);
  EXPECT_EQ(numbers_of(side, &ExplainedToken::word), (Numbers{0, 0, 0}));
}

TEST(Units, ALineAndASegmentEndASentence) {
  ExplainedSide side = side_of({" one", "\n", " two", " three"});
  side.tokens[3].segment = 1;
  number_units(side);
  EXPECT_EQ(numbers_of(side, &ExplainedToken::sentence), (Numbers{0, 0, 1, 2}));
}

TEST(HeadStatistics, OfACausalAndAnUnmaskedHead) {
  ExplainedSide side = side_of({"[CLS]", " a", " b", "[SEP]"});
  Tensor weights = ops::zeros({2, 4, 4});
  weights[0][0][0] = 1;
  for (int i = 1; i < 4; ++i) weights[0][i][i - 1] = 1;
  weights[1].fill_(0.25);
  const HeadStatistics found = head_statistics(weights, side, side, 0);
  EXPECT_NEAR(found.entropy[0], 0, 1e-6);
  EXPECT_NEAR(found.entropy[1], std::log(4), 1e-6);
  EXPECT_NEAR(found.distance[0], 0.75, 1e-6);
  EXPECT_NEAR(found.distance[1], 1.25, 1e-6);
  EXPECT_NEAR(found.before[0], 1, 1e-6);
  EXPECT_NEAR(found.itself[0], 0.25, 1e-6);
  EXPECT_NEAR(found.first[0], 0.5, 1e-6);
  EXPECT_NEAR(found.separator[1], 0.25, 1e-6);
  const ExplainedSide other = side_of({" x", " y"});
  EXPECT_TRUE(head_statistics(weights.narrow(1, 0, 2), other, side, 0).distance.empty());
}

TEST(HeadStatistics, PatchDistancesAreEuclidean) {
  ExplainedSide side = side_of({"[CLS]", "p", "p", "p", "p"});
  side.picture = ExplainedPicture{.rows = 2, .columns = 2, .width = 4, .height = 4, .pixels = {}};
  Tensor weights = ops::zeros({1, 5, 5});
  for (int i = 0; i < 5; ++i) weights[0][i][4] = 1;
  // From the four patches to the last: the square root of 2, 1, 1 and 0; the whole picture adds nothing.
  EXPECT_NEAR(head_statistics(weights, side, side, 0).distance[0], (std::sqrt(2.0) + 2) / 5, 1e-6);
}

}  // namespace
}  // namespace attend
