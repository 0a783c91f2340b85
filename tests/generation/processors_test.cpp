#include "generation/scores/processors.h"

#include "test_data.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

namespace attend {
namespace {

using Row = std::vector<float>;
using Ids = std::vector<std::int64_t>;

Row process(const GenerationConfig& config, Row scores, Ids tokens, LengthLimits limits = {1, 20, 0},
            Ids source = {}, double chance = 0) {
  LogitsProcessors(config).apply(scores, {tokens, limits, source, {}, chance});
  return scores;
}

// Compares with the scores of transformers 4.57.6: tests/oracle/make_processor_goldens.py. A score that is
// null there is -inf.
TEST(Processors, AsTheOriginal) {
  const Json cases = read_json(test_data() / "processors/goldens.json");
  ASSERT_GE(cases.size(), 100u);
  const auto row_of = [](const Json& numbers) {
    Row row;
    for (const Json& number : numbers) row.push_back(number.is_null() ? kNever : number.get<float>());
    return row;
  };
  for (const Json& golden : cases) {
    SCOPED_TRACE(golden.dump());
    GenerationConfig config;
    apply_fields(config, Fields(golden["settings"], "settings"), FieldsFrom::caller);
    const Ids tokens = golden["tokens"].get<Ids>();
    const std::int64_t prompt = golden["prompt"].get<std::int64_t>();
    const Row got = process(config, row_of(golden["scores"]), tokens, length_limits(config, prompt, 1000),
                            golden["source"].get<Ids>());
    const Row wanted = row_of(golden["wanted"]);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (wanted[i] == kNever)
        EXPECT_EQ(got[i], kNever) << "token " << i;
      else
        EXPECT_NEAR(got[i], wanted[i], 1e-6f * std::max(1.0f, std::abs(wanted[i]))) << "token " << i;
    }
  }
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

TEST(Processors, MinLengthHoldsBackEveryEnd) {
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
  config.top_k = 50;  // more than exist
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

TEST(Processors, SourceTokensLikelierAndItsNGramsForbidden) {
  GenerationConfig config;
  config.encoder_repetition_penalty = 2;
  EXPECT_EQ(process(config, {4, -4, 4, 0}, {2}, {1, 20, 0}, {0, 1, 0, 99}), (Row{8, -2, 4, 0}));
  config = {};
  config.encoder_no_repeat_ngram_size = 2;
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {2, 0, 1}, {1, 20, 0}, {1, 3, 1, 2, 0, 1}),
            (Row{1, 1, kNever, kNever}));
}

TEST(Processors, OtherGroupsTokensLessLikely) {
  GenerationConfig config;
  config.num_beams = config.num_beam_groups = 2;
  config.diversity_penalty = 0.5;
  Row scores = {1, 1, 1};
  LogitsProcessors(config).apply(scores, {Ids{0}, {1, 20, 0}, {}, Ids{1, 2, 1, -1}, 0});
  EXPECT_EQ(scores, (Row{1, 0, 0.5}));
}

TEST(Processors, SequenceBiasAddsUp) {
  GenerationConfig config;
  config.sequence_bias = {{{0}, 1}, {{3, 0}, 2}, {{2, 2, 2}, 9}, {{0}, 4}};
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {2, 3}), (Row{7, 1, 1, 1}));  // the later one of {0} counts
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {2, 2}), (Row{5, 1, 1, 1}));  // {2, 2, 2} is longer than the text
  EXPECT_EQ(process(config, {1, 1, 1, 1}, {2, 2, 2}), (Row{5, 1, 10, 1}));
}

TEST(Processors, InvalidValuesBecomeNumbers) {
  constexpr float kMax = std::numeric_limits<float>::max();
  GenerationConfig config;
  config.remove_invalid_values = true;
  EXPECT_EQ(process(config, {NAN, INFINITY, kNever, 3}, {0}), (Row{0, kMax, -kMax, 3}));
}

TEST(Processors, EndsGrowAndExcludedTokensStayExcluded) {
  GenerationConfig config;
  config.eos_token_id = {1, 2};
  config.exponential_decay_length_penalty = ExponentialDecay{1, 2};
  EXPECT_EQ(process(config, {1, -1, kNever}, {0, 0}), (Row{1, -1, kNever}));
  EXPECT_EQ(process(config, {1, -1, kNever}, {0, 0, 0, 0}), (Row{1, 2, kNever}));
}

TEST(Processors, SuppressedAtTheBeginning) {
  GenerationConfig config;
  config.suppress_tokens = {0, 77};
  config.begin_suppress_tokens = {1};
  EXPECT_EQ(process(config, {1, 1, 1}, {2}), (Row{kNever, kNever, 1}));
  EXPECT_EQ(process(config, {1, 1, 1}, {2, 2}), (Row{kNever, 1, 1}));
  config.forced_bos_token_id = 2;  // at the second position: the first free one is after it
  EXPECT_EQ(process(config, {1, 1, 1}, {2, 2}), (Row{kNever, kNever, 1}));
}

// Calculated by hand from llama.cpp's definitions.
TEST(Processors, DryByTheLengthOfTheRepetition) {
  GenerationConfig config;
  config.dry.multiplier = 1;
  config.dry.base = 2;
  const Ids text = {0, 1, 2, 3, 1, 2, 4, 0, 1, 2};  // 0 1 2 came before 3, and 1 2 before 4
  EXPECT_EQ(process(config, Row(6, 0), text), (Row{0, 0, 0, -2, -1, 0}));
  config.dry.allowed_length = 3;
  EXPECT_EQ(process(config, Row(6, 0), text), (Row{0, 0, 0, -1, 0, 0}));
  config.dry.range = 9;  // without the first token
  EXPECT_EQ(process(config, Row(6, 0), text), Row(6, 0));
  config.dry = {1, 2, 1, -1, {1}};  // only the last token is after a breaker
  EXPECT_EQ(process(config, Row(6, 0), text), (Row{0, 0, 0, -1, -1, 0}));
  EXPECT_EQ(process(config, Row(2, 0), Ids(200, 1)), Row(2, 0));  // nothing but breakers
  config.dry = {1, 2, 1, -1, {}};
  EXPECT_EQ(process(config, Row(2, 0), {1, 1, 1, 1}), (Row{0, -4}));  // overlapping itself
}

TEST(Processors, XtcRemovesTheTopChoicesButTheLast) {
  GenerationConfig config;
  config.do_sample = true;
  config.xtc_probability = 0.5;
  config.xtc_threshold = 0.2;
  const Row scores = {std::log(0.4f), std::log(0.1f), std::log(0.25f), std::log(0.25f)};
  EXPECT_EQ(process(config, scores, {0}, {1, 20, 0}, {}, 0.5), scores);
  EXPECT_EQ(process(config, scores, {0}, {1, 20, 0}, {}, 0.49), (Row{kNever, scores[1], scores[2], kNever}));
  config.xtc_threshold = 0.3;  // only one choice
  EXPECT_EQ(process(config, scores, {0}), scores);
}

TEST(Processors, DynamicTemperatureByTheEntropy) {
  GenerationConfig config;
  config.do_sample = true;
  config.dynatemp_range = 0.5;
  EXPECT_EQ(process(config, {3, 3, 3, kNever}, {0}), (Row{2, 2, 2, kNever}));  // flat: 1 + 0.5
  const Row got = process(config, {90, 0, kNever, kNever}, {0});               // almost certain: 1 - 0.5
  EXPECT_NEAR(got[0], 180, 1e-3);
  EXPECT_EQ(process(config, {5, kNever, kNever}, {0}), (Row{5, kNever, kNever}));
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
