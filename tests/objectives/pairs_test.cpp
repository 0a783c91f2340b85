#include "objectives/pairs.h"

#include "base/file.h"
#include "objectives/base/kinds.h"
#include "objectives/scored_pairs.h"
#include "objectives/word_setting.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

std::map<std::string, double> by_name(const std::vector<Score>& scores) {
  std::map<std::string, double> all;
  for (const Score& score : scores) all[score.name] = score.value;
  return all;
}

Tensor numbers(const std::vector<std::int64_t>& flat) {
  return ops::tensor(flat, kLong).view({-1, 2});
}

// The scores of a meter for vectors of width 2.
std::vector<Score> measure(const Objective& objective, const std::vector<std::int64_t>& texts,
                           const std::vector<float>& vectors) {
  const std::unique_ptr<Meter> meter = objective.meter();
  Batch batch;
  batch.labels = numbers(texts);
  meter->add(batch, ops::tensor(vectors).view({2 * batch.labels.size(0), -1}));
  return meter->scores();
}

struct PairSetting : WordSetting {
  explicit PairSetting(std::string_view rows = "a b\tc\nd\te f g\nh\ti\n") : WordSetting("bert", Head::body) {
    add_file("pairs.tsv", rows);
  }
};

TEST(Pairs, SecondTextsFollowTheFirst) {
  const PairSetting setting;
  const Pairs pairs(setting.setting());
  ASSERT_EQ(pairs.examples(), 3);
  EXPECT_EQ(pairs.tokens(0), 4) << "of the longer text, with two special tokens";
  EXPECT_EQ(pairs.tokens(1), 5);
  const Batch batch = pairs.collate(std::vector<std::int64_t>{1, 0}, {});
  EXPECT_EQ(batch.tokens.offsets.lengths(), (std::vector<std::int64_t>{3, 4, 5, 3}));
  EXPECT_EQ(batch.counts, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(batch.tokens.ids[1].item<std::int64_t>(), kFirstLetter + 3);
}

TEST(Pairs, PositivesAreNotUsedAsNegatives) {
  // Pairs 0 and 1 have the same first text, 1 and 2 the same second text; the second text of 3 is the first
  // of 0.
  const Tensor left_out = false_negatives(numbers({0, 1, 0, 2, 3, 2, 4, 0}));
  const Tensor expected =
      ops::tensor({0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0}).view({4, 4}).to(kBool);
  EXPECT_TRUE(ops::equal(left_out, expected)) << left_out;
}

TEST(Pairs, EqualTextsHaveOneNumber) {
  const PairSetting setting("a\tb\na\tc\nc\ta\n");
  const Batch batch = Pairs(setting.setting()).collate(std::vector<std::int64_t>{0, 1, 2}, {});
  EXPECT_TRUE(ops::equal(batch.labels, numbers({0, 1, 0, 2, 2, 0}))) << batch.labels;
}

TEST(Pairs, TheSearchIsAmongAllDifferentSecondTexts) {
  const PairSetting setting;
  const Pairs pairs(setting.setting());
  // Text 1 is nearest to text 0, its own; text 3 is nearer to 1 than to its own, which is 1's.
  std::map<std::string, double> found =
      by_name(measure(pairs, {0, 1, 2, 3}, {1, 0, /**/ 0.9f, 0.1f, /**/ 1, 0.1f, /**/ 0, 1}));
  EXPECT_DOUBLE_EQ(found.at("recall@1"), 0.5);
  EXPECT_DOUBLE_EQ(found.at("recall@10"), 1);
  EXPECT_DOUBLE_EQ(found.at("mrr"), 0.75);
  // A text with two right ones searches for each among the wrong ones; a text that is also a candidate does
  // not find itself.
  found = by_name(
      measure(pairs, {0, 1, 0, 2, 2, 0}, {1, 0, 1, 0, 0.9f, 0.1f, /**/ 0.9f, 0.4f, 0.9f, 0.1f, 1, 0}));
  EXPECT_DOUBLE_EQ(found.at("recall@1"), 1) << "of three pairs";
  EXPECT_EQ(measure(pairs, {0, 1, 2, 3}, {1, 0, 0, 1, 1, 0, 0, 1}).front().name, "recall@1");
}

TEST(Pairs, EveryWidthHasItsOwnLossAndMetrics) {
  PairSetting setting;
  const std::int64_t whole = setting.spec.encoder->width();
  setting.recipe.matryoshka = {2, 8, whole};
  const Pairs pairs(setting.setting());
  std::vector<std::string> names;
  for (const Term& term : pairs.terms()) names.push_back(term.name);
  EXPECT_EQ(names, (std::vector<std::string>{fmt::format("loss_{}", whole), "loss_8", "loss_2"}));
  EXPECT_EQ(pairs.collate(std::vector<std::int64_t>{0, 2}, {}).counts, (std::vector<std::int64_t>{2, 2, 2}));
  for (const std::int64_t width : {std::int64_t{0}, whole + 1}) {
    setting.recipe.matryoshka = {width};
    EXPECT_TRUE(contains(error_of([&] { Pairs(setting.setting()); }), "`matryoshka`"));
  }
}

TEST(Pairs, ABatchOfOneIsRefused) {
  EXPECT_TRUE(contains(error_of([] { Pairs(PairSetting("a\tb\n").setting()); }), "two pairs at least"));
  PairSetting setting;
  setting.recipe.batch_size = 1;
  EXPECT_TRUE(contains(error_of([&] { Pairs(setting.setting()); }), "two pairs to a batch"));
}

TEST(Pairs, OnlyOfEncodersOfText) {
  WordSetting setting("gpt2", Head::body, {{"bos_token_id", nullptr}, {"eos_token_id", nullptr}});
  setting.add_file("pairs.tsv", "a\tb\nc\td\n");
  EXPECT_TRUE(contains(error_of([&] { Pairs(setting.setting()); }), "expected an encoder of text"));
}

TEST(Pairs, APlainDirectoryBecomesOneOfSentenceTransformers) {
  PairSetting setting;
  setting.recipe.max_length = 20;
  const std::filesystem::path output = setting.directory.path() / "out";
  setting.directory.file("out/config.json", "{}");
  kPairs.write_extra_files(setting.setting(), output);
  const auto pooling = ModelDirectory(output).sentence_pooling();
  ASSERT_TRUE(pooling);
  EXPECT_EQ(pooling->mode, SentencePooling::Mode::mean);
  EXPECT_EQ(pooling->max_length, 20);
  // The model directory's own file is kept.
  const std::string own = "{\"own\": 1}";
  setting.directory.file("out/modules.json", own);
  kPairs.write_extra_files(setting.setting(), output);
  EXPECT_EQ(read_file(output / "modules.json"), own);
}

// The cosines for the scores of pairs.
std::vector<float> cosines_of(const std::string& scores, const Recipe& recipe = {},
                              std::optional<std::pair<double, double>> of_training = {}) {
  WordSetting words("bert", Head::body);
  std::string table;
  for (const char score : scores)
    if (score == ' ')
      table += "\ta\tb\n";
    else
      table += score;
  words.add_file("pairs.tsv", table + "\ta\tb\n");
  words.recipe = recipe;
  Setting setting = words.setting();
  setting.score_range = of_training;
  const ScoredPairs pairs(setting);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < pairs.examples(); ++i) all.push_back(i);
  const Tensor labels = pairs.collate(all, {}).labels;
  return {labels.const_data<float>(), labels.const_data<float>() + labels.numel()};
}

using Floats = std::vector<float>;

TEST(ScoredPairs, CosinesAreTakenAsTheyAre) {
  EXPECT_EQ(cosines_of("0.5 1"), (Floats{0.5f, 1}));
  EXPECT_EQ(cosines_of("-1 0 0.5"), (Floats{-1, 0, 0.5f}));
  EXPECT_EQ(cosines_of("1 1"), (Floats{1, 1}));
}

TEST(ScoredPairs, OtherScoresAreDividedByTheEndOfTheirScale) {
  EXPECT_EQ(cosines_of("0 2.5 4"), (Floats{0, 0.5f, 0.8f}));
  EXPECT_EQ(cosines_of("3 3"), (Floats{0.6f, 0.6f}));
  EXPECT_EQ(cosines_of("1 7"), (Floats{0.1f, 0.7f}));
  EXPECT_EQ(cosines_of("1 70"), (Floats{0.01f, 0.7f}));
  Recipe recipe;
  recipe.score_range = {-1, 3};
  EXPECT_EQ(cosines_of("3 -1 0", recipe), (Floats{1, 0, 0.25f}));
  // Validation uses the same scale as training.
  EXPECT_EQ(cosines_of("0.5 1", {}, std::pair(0.0, 5.0)), (Floats{0.1f, 0.2f}));
}

TEST(ScoredPairs, ScoresOfAnotherRangeAreRefused) {
  EXPECT_TRUE(contains(error_of([] { cosines_of("5 -1"); }), "found -1 to 5; say which of them stand for"));
  EXPECT_TRUE(contains(error_of([] { cosines_of("1 101"); }), "`score_range` MIN,MAX"));
  EXPECT_TRUE(contains(error_of([] { cosines_of("1 7", {}, std::pair(0.0, 5.0)); }),
                       "expected scores from 0 to 5, as in training; `score_range` says others, found 7"));
  Recipe recipe;
  recipe.score_range = {0, 4};
  EXPECT_TRUE(contains(error_of([&] { cosines_of("1 5", recipe); }),
                       "expected scores from 0 to 4 (`score_range`), found 5"));
  recipe.score_range = {4, 4};
  EXPECT_TRUE(contains(error_of([&] { cosines_of("1 5", recipe); }), "expected a number and a larger one"));
}

TEST(ScoredPairs, AreMeasuredByTheirOrder) {
  WordSetting setting("bert", Head::body);
  setting.add_file("pairs.tsv", "1\ta\tb\n0\tc\td\n0.25\te\tf\n");
  const ScoredPairs pairs(setting.setting());
  const Batch batch = pairs.collate(std::vector<std::int64_t>{0, 1, 2}, {});
  const std::unique_ptr<Meter> meter = pairs.meter();
  meter->add(batch, ops::tensor({0.9f, -0.9f, 0.8f}).view({3, 1}));
  EXPECT_EQ(meter->scores().front().name, "spearman");
  EXPECT_DOUBLE_EQ(meter->scores().front().value, 1);
}

}  // namespace
}  // namespace attend
