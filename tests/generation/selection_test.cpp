#include "generation/scores/selection.h"

#include "generation/scores/processors.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(ArgMax, FirstOfTheLargest) {
  std::vector<float> scores(100, -2);
  EXPECT_EQ(arg_max(scores), 0);
  scores[41] = scores[77] = scores[98] = 3;
  EXPECT_EQ(arg_max(scores), 41);
  scores[97] = 4;  // after the last whole block
  EXPECT_EQ(arg_max(scores), 97);
  EXPECT_EQ(arg_max(std::vector<float>(40, kNever)), 0);
  for (const std::size_t place : {5u, 97u}) {
    std::vector<float> bad = scores;
    bad[place] = NAN;
    EXPECT_TRUE(contains(error_of([&] { arg_max(bad); }), "NaN"));
  }
}

// Coarse numbers, so that many are equal; some are excluded, and some rows are far smaller.
TEST(TopK, AsTorchAmongEqualScoresToo) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t rows = 1 + random() % 5, vocabulary = 1 + random() % (round % 2 ? 40 : 3000);
    const std::int64_t count = rows * vocabulary, k = 1 + random() % std::min<std::int64_t>(count, 25);
    Tensor scores = ops::zeros({rows, vocabulary});
    std::vector<float> offsets;
    for (std::int64_t i = 0; i < count; ++i)
      scores.data<float>()[i] = random() % 10 == 0 ? kNever : -static_cast<float>(random() % 50) / 4;
    std::vector<const float*> pointers;
    for (std::int64_t r = 0; r < rows; ++r) {
      offsets.push_back(r == 0 ? 0 : random() % 2 ? -1e9f : -static_cast<float>(random() % 8) / 4);
      pointers.push_back(scores.const_data<float>() + r * vocabulary);
    }
    const Tensor sums = (scores + ops::tensor(offsets).unsqueeze(1)).reshape(-1);
    const auto [values, places] = sums.topk(k);
    const auto ours = top_k(pointers, offsets, vocabulary, k);
    const auto plain = top_k({sums.const_data<float>(), static_cast<std::size_t>(count)}, k);
    ASSERT_EQ(ours.size(), static_cast<std::size_t>(k));
    for (std::int64_t i = 0; i < k; ++i) {
      ASSERT_EQ(ours[i].first, values[i].item<float>()) << "round " << round << ", place " << i;
      ASSERT_EQ(ours[i].second, places[i].item<std::int64_t>()) << "round " << round << ", place " << i;
      ASSERT_EQ(plain[i], ours[i]);
    }
  }
}

TEST(TopK, RefusesNaN) {
  std::vector<float> scores(200, -1);
  scores[150] = NAN;
  const std::vector<const float*> rows = {scores.data()};
  EXPECT_TRUE(contains(error_of([&] { top_k(rows, std::vector<float>{0}, 200, 2); }), "NaN"));
}

TEST(Draw, RefusesInvalidDistributions) {
  EXPECT_TRUE(contains(error_of([] { draw(std::vector<float>{0, NAN}, 0.5); }), "NaN"));
  EXPECT_TRUE(contains(error_of([] { draw(std::vector<float>{kNever, kNever}, 0.5); }), "rule out"));
  EXPECT_TRUE(contains(error_of([] { draw(std::vector<float>{0, INFINITY}, 0.5); }), "infinite"));
}

TEST(Draw, EndsOfTheRange) {
  const std::vector<float> scores = {kNever, 0, kNever, 0, kNever};
  EXPECT_EQ(draw(scores, 0), 1);
  EXPECT_EQ(draw(scores, 0.4999), 1);
  EXPECT_EQ(draw(scores, 0.5), 3);
  EXPECT_EQ(draw(scores, 1 - 0x1p-53), 3);
}

// For two rows of candidates, the second after the first; counts every ordered pair.
TEST(DrawDifferent, ChiSquareOver200000Pairs) {
  constexpr std::int64_t kVocabulary = 4, kPlaces = 2 * kVocabulary, kDraws = 200000;
  const std::vector<float> scores = {0.3f, -1, kNever, 0.9f, 1.5f, 0, 0.2f, kNever};
  const std::vector<float> offsets = {0.25f, -0.5f};
  const std::vector<const float*> rows = {scores.data(), scores.data() + kVocabulary};
  std::vector<double> p(kPlaces);
  double sum = 0;
  for (std::int64_t i = 0; i < kPlaces; ++i)
    sum += p[i] = std::exp(static_cast<double>(scores[i]) + offsets[i / kVocabulary]);
  std::vector<double> seen(kPlaces * kPlaces, 0);
  for (std::int64_t i = 0; i < kDraws; ++i) {
    const auto drawn = draw_different(rows, offsets, kVocabulary, 2, {5, 7, static_cast<std::uint64_t>(i)});
    ASSERT_EQ(drawn.size(), 2u);
    ASSERT_EQ(drawn[0].first, scores[drawn[0].second] + offsets[drawn[0].second / kVocabulary]);
    ++seen[drawn[0].second * kPlaces + drawn[1].second];
  }
  double chi_square = 0, freedom = -1;
  for (std::int64_t a = 0; a < kPlaces; ++a)
    for (std::int64_t b = 0; b < kPlaces; ++b) {
      const double expected = a == b ? 0 : kDraws * p[a] / sum * p[b] / (sum - p[a]);
      const double got = seen[a * kPlaces + b];
      if (expected == 0) {
        EXPECT_EQ(got, 0) << a << " then " << b;
        continue;
      }
      chi_square += (got - expected) * (got - expected) / expected;
      ++freedom;
    }
  ASSERT_EQ(freedom, 29);                                         // 6 possible tokens, 6 * 5 pairs
  EXPECT_LT(chi_square, freedom + 4.5 * std::sqrt(2 * freedom));  // about one run in 100,000 fails by chance
  EXPECT_GT(chi_square, freedom - 3.5 * std::sqrt(2 * freedom));
}

TEST(DrawDifferent, ExcludedTokensComeLast) {
  const std::vector<float> scores = {kNever, 1, kNever, -1e9f};
  const std::vector<const float*> rows = {scores.data()};
  const auto drawn = draw_different(rows, std::vector<float>{0}, 4, 3, {});
  ASSERT_EQ(drawn.size(), 3u);
  EXPECT_EQ(drawn[0].second, 1);
  EXPECT_EQ(drawn[1].second, 3);
  EXPECT_EQ(drawn[2].second, 0);
  const std::vector<float> bad = {0, NAN};
  const std::vector<const float*> bad_rows = {bad.data()};
  EXPECT_TRUE(contains(error_of([&] { draw_different(bad_rows, std::vector<float>{0}, 2, 1, {}); }), "NaN"));
}

// Draws must follow the probabilities after the processors, which are computed here with tensors.
TEST(Draw, ChiSquareOver200000Draws) {
  constexpr std::int64_t kVocabulary = 60, kDraws = 200000;
  GenerationConfig config;
  config.do_sample = true;
  config.temperature = 1.3;
  config.top_k = 40;
  config.top_p = 0.95;
  ops::manual_seed(3);
  const Tensor logits = ops::randn({kVocabulary}) * 1.5f;

  const auto [sorted, order] = (logits / 1.3).sort(/*stable=*/true, /*d=*/0, /*descending=*/true);
  Tensor wanted = ops::softmax(sorted.narrow(0, 0, 40).to(kDouble), 0);
  wanted = wanted.masked_fill(wanted.cumsum(0) - wanted >= 0.95, 0);
  wanted = wanted / wanted.sum();
  const std::int64_t possible = wanted.gt(0).sum().item<std::int64_t>();
  ASSERT_GT(possible, 10);
  ASSERT_LT(possible, 40);

  Tensor scores = logits.clone();
  const std::vector<std::int64_t> tokens = {1};
  const std::span<float> row(scores.data<float>(), kVocabulary);
  LogitsProcessors(config).apply(row, {tokens, {}});
  // One text of many steps, and many texts of one step.
  for (const bool by_step : {true, false}) {
    std::vector<double> seen(kVocabulary, 0);
    for (std::int64_t i = 0; i < kDraws; ++i)
      ++seen[draw(row, random_fraction(11, by_step ? 4 : i, by_step ? i : 4))];
    double chi_square = 0;
    for (std::int64_t i = 0; i < kVocabulary; ++i) {
      const double expected = i < 40 ? wanted[i].item<double>() * kDraws : 0,
                   got = seen[order[i].item<std::int64_t>()];
      if (expected == 0)
        EXPECT_EQ(got, 0) << "a token that was ruled out";
      else
        chi_square += (got - expected) * (got - expected) / expected;
    }
    const double freedom = static_cast<double>(possible - 1);
    EXPECT_LT(chi_square,
              freedom + 4.5 * std::sqrt(2 * freedom));  // about one run in 100,000 fails by chance
    EXPECT_GT(chi_square, freedom - 4.0 * std::sqrt(2 * freedom));  // nor suspiciously uniform
  }
}

}  // namespace
}  // namespace attend
