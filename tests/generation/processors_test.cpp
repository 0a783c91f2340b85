#include "generation/processors.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
using Row = std::vector<float>;

Row process(const GenerationConfig& config, Row scores, std::vector<std::int64_t> tokens,
            LengthLimits limits = {1, 20, 0}) {
  LogitsProcessors(config).apply(scores, {tokens, limits});
  return scores;
}

TEST(Processors, NoneByDefault) {
  EXPECT_TRUE(LogitsProcessors(GenerationConfig()).empty());
}

TEST(Processors, RepetitionPenaltyOncePerToken) {
  GenerationConfig config;
  config.repetition_penalty = 2;
  EXPECT_EQ(process(config, {4, -4, 4, 0}, {0, 1, 0, 1, 0, 99}), (Row{2, -8, 4, 0}));
}

TEST(Processors, NoRepeatNGram) {
  GenerationConfig config;
  config.no_repeat_ngram_size = 3;
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {0, 1, 2, 0, 1, 3, 0, 1}), (Row{1, 1, kNever, kNever}));
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {1}), (Row{1, 1, 1, 1}));
  config.no_repeat_ngram_size = 1;
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {3, 1}), (Row{1, kNever, 1, kNever}));
}

TEST(Processors, BadWords) {
  GenerationConfig config;
  config.eos_token_id = {2};
  config.bad_words_ids = {{0}, {2}, {1, 3}, {3, 1, 1}};
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {3, 1}),
            (Row{kNever, 1, 1, kNever}));  // 2 ends texts; {3, 1, 1} is longer than the text
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {0, 3, 1}), (Row{kNever, kNever, 1, kNever}));
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {1, 2}), (Row{kNever, 1, 1, 1}));
}

TEST(Processors, LeastLengthHoldsBackEveryEnd) {
  GenerationConfig config;
  config.eos_token_id = {1, 3, 77};
  config.min_new_tokens = 2;
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {0, 0}, {1, 20, 3}), (Row{1, kNever, 1, kNever}));
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {0, 0, 0}, {1, 20, 3}), (Row{1, 1, 1, 1}));
}

TEST(Processors, ForcedTokens) {
  GenerationConfig config;
  config.forced_bos_token_id = 2;
  config.forced_eos_token_id = {0, 3};
  EXPECT_EQ(process(config, {5, 5, 5, 5}, {9}), (Row{kNever, kNever, 0, kNever}));
  EXPECT_EQ(process(config, {5, 5, 5, 5}, {9, 9}, {1, 4, 0}), (Row{5, 5, 5, 5}));
  EXPECT_EQ(process(config, {5, 5, 5, 5}, {9, 9, 9}, {1, 4, 0}), (Row{0, kNever, kNever, 0}));
}

TEST(Processors, TopKKeepsEqualScores) {
  GenerationConfig config;
  config.do_sample = true;
  config.top_k = 2;
  EXPECT_EQ(process(config, {1, 3, 2, 2, 0}, {9}), (Row{kNever, 3, 2, 2, kNever}));
  config.top_k = 50;  // more than there are
  EXPECT_EQ(process(config, {1, 3, 2, 2, 0}, {9}), (Row{1, 3, 2, 2, 0}));
}

TEST(Processors, TopPKeepsTheNucleus) {
  GenerationConfig config;
  config.do_sample = true;
  config.top_k = 0;
  const Row scores = {std::log(0.1f), std::log(0.5f), std::log(0.25f), std::log(0.15f)};
  config.top_p = 0.7;
  EXPECT_EQ(process(config, scores, {9}), (Row{kNever, scores[1], scores[2], kNever}));
  config.top_p = 0.8;
  EXPECT_EQ(process(config, scores, {9}), (Row{kNever, scores[1], scores[2], scores[3]}));
  config.top_p = 0;  // one always stays
  EXPECT_EQ(process(config, scores, {9}), (Row{kNever, scores[1], kNever, kNever}));
}

TEST(Processors, SamplingOnesOnlyWhenSampling) {
  GenerationConfig config;
  config.temperature = 2;
  config.top_k = 1;
  config.top_p = 0.5;
  EXPECT_EQ(process(config, {4, 2, 0}, {9}), (Row{4, 2, 0}));
  config.do_sample = true;
  EXPECT_EQ(process(config, {4, 2, 0}, {9}), (Row{2, kNever, kNever}));
}

TEST(Processors, RenormalizeComesLast) {
  GenerationConfig config;
  config.bad_words_ids = {{0}};
  config.renormalize_logits = true;
  const Row got = process(config, {9, 1, 1}, {2});
  EXPECT_EQ(got[0], kNever);
  EXPECT_NEAR(got[1], std::log(0.5), 1e-6);
  EXPECT_NEAR(got[2], std::log(0.5), 1e-6);
}

}  // namespace
}  // namespace attend
