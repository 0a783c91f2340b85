#include "tasks/spans.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Floats = std::vector<float>;

std::vector<std::pair<std::size_t, std::size_t>> places(const SpanScores& scores) {
  std::vector<std::pair<std::size_t, std::size_t>> result;
  for (const AnswerSpan& span : scores.spans) result.emplace_back(span.start, span.end);
  return result;
}

TEST(Spans, TakesTheLikeliestStartAndEnd) {
  const Floats start = {0, 1, 5, 1}, end = {0, 1, 1, 6};
  const SpanScores best = best_spans(start, end, {true, true, true, true}, 1, 15);
  ASSERT_EQ(best.spans.size(), 1u);
  EXPECT_EQ(best.spans[0].start, 2u);
  EXPECT_EQ(best.spans[0].end, 3u);
  // e^5 and e^6 among all four of each.
  EXPECT_NEAR(best.spans[0].score, 0.9584 * 0.9843, 1e-3);
}

TEST(Spans, EndsWithinItsStartAndLength) {
  const Floats start = {0, 0, 0, 9}, end = {0, 9, 0, 0};
  const SpanScores best = best_spans(start, end, {true, true, true, true}, 100, 2);
  EXPECT_EQ(places(best).size(), 5u);  // 1-1 1-2 2-2 2-3 3-3
  for (const auto& [first, last] : places(best)) {
    EXPECT_LE(first, last);
    EXPECT_LE(last - first, 1u);
  }
}

TEST(Spans, LeavesOutWhatIsNotAllowedAndTheFirstToken) {
  const Floats start = {9, 9, 1, 9}, end = {9, 9, 1, 9};
  const SpanScores best = best_spans(start, end, {true, false, true, false}, 100, 15);
  EXPECT_EQ(places(best), (std::vector<std::pair<std::size_t, std::size_t>>{{2, 2}}));
  // The first token still takes its share of the probability: e^9 to e^1, twice.
  EXPECT_NEAR(best.none, 1, 1e-2);
}

TEST(Spans, FindsNothingInNothing) {
  EXPECT_TRUE(best_spans({}, {}, {}, 5, 5).spans.empty());
  const Floats one = {3};
  EXPECT_TRUE(best_spans(one, one, {true}, 5, 5).spans.empty());
}

}  // namespace
}  // namespace attend
