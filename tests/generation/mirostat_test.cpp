// Which tokens may be drawn and how the target is adapted; tests/oracle/check_mirostat.py replays whole
// texts.
#include "generation/scores/mirostat.h"

#include "generation/scores/selection.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace attend {
namespace {

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> scores;
  for (const double p : probabilities) scores.push_back(static_cast<float>(std::log(p)));
  return scores;
}

std::size_t possible(std::span<const float> scores) {
  return scores.size() - static_cast<std::size_t>(std::ranges::count(scores, kNever));
}

TEST(Mirostat, ExcludesTooSurprisingTokens) {
  // mu begins at 2 bits * 2: probabilities below 1/16.
  const Mirostat mirostat({2, 2, 0.1});
  std::vector<float> scores = logs({0.05, 0.5, 0.07, 0.33, 0.05});
  mirostat.truncate(scores);
  EXPECT_EQ(possible(scores), 3u);
  EXPECT_EQ(scores[0], kNever);
  EXPECT_EQ(scores[4], kNever);
}

TEST(Mirostat, LearnsFromWhatWasDrawn) {
  Mirostat mirostat({2, 1.05, 0.5});  // mu is 2.1
  const std::vector<float> scores = logs({0.5, 0.25, 0.125, 0.125});
  std::vector<float> now = scores;
  mirostat.truncate(now);
  EXPECT_EQ(possible(now), 2u);
  mirostat.learn(scores, 3);  // 3 bits: mu becomes 2.1 - 0.5 * (3 - 1.05)
  now = scores;
  mirostat.truncate(now);
  EXPECT_EQ(possible(now), 1u);
  for (int i = 0; i < 4; ++i) mirostat.learn(logs({1, 1e-30}), 0);  // no surprise at all: mu becomes 3.2
  now = scores;
  mirostat.truncate(now);
  EXPECT_EQ(possible(now), 4u);
}

// Zipf's law with exponent 1.5 over 1000 tokens: k = ((0.5 * 2^6) / (1 - 1000^-0.5)) ^ (1 / 1.5) = 10.3.
TEST(Mirostat, FirstVersionCountsByZipfsLaw) {
  std::vector<double> probabilities;
  for (int i = 1; i <= 1000; ++i) probabilities.push_back(std::pow(i, -1.5));
  std::vector<float> scores = logs(probabilities);
  Mirostat({1, 3, 0.1}).truncate(scores);
  EXPECT_EQ(possible(scores), 10u);
}

TEST(Mirostat, KeepsAtLeastOneToken) {
  for (const std::int64_t version : {1, 2})
    for (const std::vector<float>& given :
         {std::vector<float>{3}, std::vector<float>(50, 1.0f), {kNever, 2, kNever}, {100, -100, -1000}}) {
      std::vector<float> scores = given;
      Mirostat({version, 1e-9, 0.1}).truncate(scores);
      EXPECT_GE(possible(scores), 1u);
      EXPECT_EQ(arg_max(scores), arg_max(given));
    }
}

TEST(Mirostat, DoesNothingWithoutAVersion) {
  std::vector<float> scores = logs({0.9999, 0.0001});
  Mirostat mirostat(MirostatTarget{});
  mirostat.truncate(scores);
  EXPECT_EQ(possible(scores), 2u);
}

}  // namespace
}  // namespace attend
