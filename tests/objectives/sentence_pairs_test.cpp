#include "objectives/shared/sentence_pairs.h"

#include "objectives/masked_language_model.h"
#include "objectives/sentence_pair_pretraining.h"
#include "tensor_checks.h"
#include "word_setting.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// `documents` documents of up to `sentences` sentences of up to `words` tokens.
TokenRows random_rows(std::int64_t documents, std::uint64_t sentences, std::uint64_t words) {
  Random random(11);
  std::vector<TokenId> ids;
  std::vector<std::int64_t> rows = {0}, groups = {0};
  for (std::int64_t d = 0; d < documents; ++d) {
    for (std::uint64_t s = 1 + random.below(sentences); s > 0; --s) {
      for (std::uint64_t w = 1 + random.below(words); w > 0; --w)
        ids.push_back(static_cast<TokenId>(kFirstLetter + random.below(kLetters)));
      rows.push_back(static_cast<std::int64_t>(ids.size()));
    }
    groups.push_back(static_cast<std::int64_t>(rows.size()) - 1);
  }
  return TokenRows(std::move(ids), std::move(rows), std::move(groups));
}

// The document at a position.
std::int64_t document_of(const TokenRows& rows, std::int64_t place) {
  std::int64_t begin = 0;
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    if (place < begin + rows.length(row)) return rows.group_of(row);
    begin += rows.length(row);
  }
  return -1;
}

bool operator_equal(const SentencePair& a, const SentencePair& b) {
  return a.first.begin == b.first.begin && a.first.end == b.first.end && a.second.begin == b.second.begin &&
         a.second.end == b.second.end && a.label == b.label;
}

double ones(const std::vector<SentencePair>& pairs) {
  double sum = 0;
  for (const SentencePair& pair : pairs) sum += static_cast<double>(pair.label);
  return sum / static_cast<double>(pairs.size());
}

TEST(SentencePairs, HalfOfTheSecondSegmentsFollowAndHalfAreOfAnotherDocument) {
  const TokenRows rows = random_rows(800, 20, 12);
  const std::vector<SentencePair> pairs = draw_pairs(rows, PairTask::next_sentence, 50, {1, 0});
  EXPECT_NEAR(ones(pairs), 0.5, 0.03);
  for (const SentencePair& pair : pairs) {
    ASSERT_GE(pair.first.length(), 1);
    ASSERT_GE(pair.second.length(), 1);
    ASSERT_LE(pair.first.length() + pair.second.length(), 50);
    const std::int64_t first = document_of(rows, pair.first.begin),
                       second = document_of(rows, pair.second.begin);
    ASSERT_EQ(document_of(rows, pair.first.end - 1), first);
    ASSERT_EQ(document_of(rows, pair.second.end - 1), second);
    ASSERT_EQ(first == second, pair.label == 0);
    if (pair.label == 0) {
      ASSERT_LE(pair.first.end, pair.second.begin);
    }
    if (pair.label == 0 && pair.first.length() + pair.second.length() < 50) {
      ASSERT_EQ(pair.first.end, pair.second.begin) << "nothing is cut where there is room";
    }
  }
}

TEST(SentencePairs, HalfOfTheNeighboursHaveChangedPlaces) {
  const TokenRows rows = random_rows(4000, 20, 12);
  const std::vector<SentencePair> pairs = draw_pairs(rows, PairTask::sentence_order, 50, {1, 0});
  EXPECT_NEAR(ones(pairs), 0.5, 0.03);
  for (const SentencePair& pair : pairs) {
    ASSERT_LE(pair.first.length() + pair.second.length(), 50);
    ASSERT_EQ(document_of(rows, pair.first.begin), document_of(rows, pair.second.begin));
    ASSERT_EQ(pair.label == 0, pair.first.begin < pair.second.begin);
  }
}

// In one long document, only the intended tenth is shortened.
TEST(SentencePairs, ATenthAreShorterThanTheyMightBe) {
  std::vector<TokenId> ids(40000, 7);
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i <= 40000; i += 2) starts.push_back(i);
  const std::int64_t sentences = static_cast<std::int64_t>(starts.size()) - 1;
  const TokenRows rows(std::move(ids), std::move(starts), {0, sentences});
  const std::vector<SentencePair> pairs = draw_pairs(rows, PairTask::sentence_order, 40, {2, 0});
  std::int64_t shorter = 0;
  for (const SentencePair& pair : pairs) shorter += pair.first.length() + pair.second.length() < 40;
  // Lengths from 2 to 40; 39 and 40 are full.
  EXPECT_NEAR(static_cast<double>(shorter) / static_cast<double>(pairs.size()), 0.1 * 37 / 39, 0.03);
}

TEST(SentencePairs, FollowFromSeedAndEpochAlone) {
  const TokenRows rows = random_rows(60, 8, 9);
  const auto make = [&](std::uint64_t seed, std::int64_t epoch) {
    return draw_pairs(rows, PairTask::next_sentence, 30, {seed, epoch});
  };
  const auto equal = [](const std::vector<SentencePair>& a, const std::vector<SentencePair>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), operator_equal);
  };
  EXPECT_TRUE(equal(make(4, 2), make(4, 2)));
  EXPECT_FALSE(equal(make(4, 2), make(4, 3)));
  EXPECT_FALSE(equal(make(4, 2), make(5, 2)));
}

TEST(SentencePairs, SaysWhatIsWrongWithTheText) {
  const TokenRows one(std::vector<TokenId>(6, 7), {0, 3, 6}, {0, 2});
  const TokenRows lonely(std::vector<TokenId>(6, 7), {0, 3, 6}, {0, 1, 2});
  EXPECT_TRUE(contains(error_of([&] { draw_pairs(one, PairTask::next_sentence, 20, {}); }), "an empty line"));
  EXPECT_EQ(draw_pairs(one, PairTask::sentence_order, 20, {}).size(), 1u);
  EXPECT_TRUE(contains(error_of([&] { draw_pairs(lonely, PairTask::sentence_order, 20, {}); }),
                       "no document has two sentences"));
  EXPECT_TRUE(contains(error_of([&] { draw_pairs(one, PairTask::sentence_order, 1, {}); }), "room"));
}

std::string documents(std::int64_t count) {
  Random random(5);
  std::string text;
  for (std::int64_t d = 0; d < count; ++d) {
    for (std::uint64_t s = 2 + random.below(6); s > 0; --s) text += random_sentence(random, 4, 3) + "\n";
    text += "\n";
  }
  return text;
}

TEST(SentencePairPretraining, FramesThePairsAndNumbersTheirLabels) {
  WordSetting words("bert", Head::pretraining);
  words.add_file("documents.txt", documents(400));
  words.recipe.data.max_length = 30;
  SentencePairPretraining objective(words.setting(), PairTask::next_sentence);
  objective.begin_epoch(3, 1);
  std::vector<std::int64_t> all(static_cast<std::size_t>(objective.examples()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  const Batch batch = objective.collate(all, {3, 1});
  ASSERT_EQ(batch.counts.size(), 2u);
  EXPECT_EQ(batch.counts[1], objective.examples());
  EXPECT_EQ(batch.counts[0], batch.token_labels.ne(kIgnoredLabel).sum().item<std::int64_t>());
  const double hidden =
      static_cast<double>(batch.counts[0]) / static_cast<double>(batch.tokens.offsets.total());
  EXPECT_NEAR(hidden, 0.15 * 0.87, 0.02) << "special tokens are never hidden";
  for (const std::int64_t example : all) {
    const Tensor ids = batch.tokens.offsets.part(batch.tokens.ids, example),
                 types = batch.tokens.offsets.part(batch.tokens.types, example);
    ASSERT_EQ(ids.numel(), objective.tokens(example));
    ASSERT_LE(ids.numel(), 30);
    ASSERT_EQ(ids[0].item<std::int64_t>(), kCls);
    ASSERT_EQ(ids[-1].item<std::int64_t>(), kSep);
    ASSERT_EQ(types[0].item<std::int64_t>(), 0);
    ASSERT_EQ(types[-1].item<std::int64_t>(), 1);
  }
  // A resumed run makes the same batch without the epochs before it.
  SentencePairPretraining again(words.setting(), PairTask::next_sentence);
  again.begin_epoch(3, 0);
  again.begin_epoch(3, 1);
  const Batch same = again.collate(all, {3, 1});
  EXPECT_TRUE(ops::equal(same.tokens.ids, batch.tokens.ids));
  EXPECT_TRUE(ops::equal(same.labels, batch.labels));
  // The hidden tokens of an example do not depend on the other examples of the batch.
  const Batch alone = objective.collate({&all[7], 1}, {3, 1});
  EXPECT_TRUE(ops::equal(alone.token_labels, batch.tokens.offsets.part(batch.token_labels, 7)));
}

TEST(SentencePairPretraining, SentenceOrderHidesUpToThreeWordsInARow) {
  Recipe recipe;
  recipe.objective = "sentence-order";
  EXPECT_EQ(mask_options(recipe).ngram, 3);
  recipe.noise.ngram = 1;
  EXPECT_EQ(mask_options(recipe).ngram, 1);
  recipe = {};
  recipe.objective = "next-sentence";
  EXPECT_EQ(mask_options(recipe).ngram, 1);
}

}  // namespace
}  // namespace attend
