#include "objectives/span_corruption.h"

#include "objectives/small_setting.h"

#include <map>
#include <numeric>

namespace attend {
namespace {

SmallSetting t5(int sentinels) {
  std::vector<std::string> specials{"<unk>", "<pad>", "</s>"};
  for (int i = sentinels; i-- > 0;) specials.push_back(fmt::format("<extra_id_{}>", i));
  return SmallSetting({{"model_type", "t5"},
                       {"architectures", {"T5ForConditionalGeneration"}},
                       {"d_model", 16},
                       {"d_kv", 4},
                       {"d_ff", 32},
                       {"num_heads", 4},
                       {"num_layers", 1},
                       {"pad_token_id", 1},
                       {"eos_token_id", 2},
                       {"decoder_start_token_id", 1}},
                      specials, {}, {"</s>"});
}

// The original's numbers (compute_input_and_target_lengths): 512 encoder tokens come from a text of 568.
TEST(SpanCorruption, HidesAsMuchAsTheOriginal) {
  const SpanRates rates;
  EXPECT_EQ(rates.hidden(568), 85);
  EXPECT_EQ(rates.spans(568), 28);
  EXPECT_EQ(rates.input(568) + 1, 512);
  EXPECT_EQ(rates.target(568) + 1, 114);
  EXPECT_EQ(rates.hidden(10), 2) << "1.5 is rounded to the even one";
  EXPECT_EQ(rates.hidden(2), 1);
  EXPECT_EQ(rates.spans(2), 1);
  const SpanRates most{0.95, 1};
  EXPECT_EQ(most.hidden(20), 19);
  EXPECT_EQ(most.spans(20), 1) << "there is one token to stand between spans";
}

TEST(SpanCorruption, DrawsEachWayToCutATextEquallyOften) {
  const SpanRates rates{0.5, 2};  // 4 of 8 tokens are hidden in 2 spans: 3 ways for each kind
  std::map<std::vector<std::int64_t>, int> seen;
  Random random(5);
  for (int i = 0; i < 9000; ++i) {
    const std::vector<std::int64_t> lengths = draw_spans(8, rates, random);
    ASSERT_EQ(lengths.size(), 4);
    EXPECT_EQ(lengths[0] + lengths[2], 4);
    EXPECT_EQ(lengths[1] + lengths[3], 4);
    for (const std::int64_t length : lengths) EXPECT_GE(length, 1);
    ++seen[lengths];
  }
  EXPECT_EQ(seen.size(), 9);
  for (const auto& [lengths, count] : seen) EXPECT_NEAR(count, 1000, 120);  // four standard deviations
}

TEST(SpanCorruption, InputAndTargetTogetherAreTheText) {
  SmallSetting t = t5(40);
  t.write("train.txt", 3000, 7, 40);
  t.recipe.max_length = 64;
  const SpanCorruption objective(t.setting());
  const TokenId end = 2, sentinel = *t.tokenizer().token_to_id("<extra_id_0>");
  std::vector<std::int64_t> examples(static_cast<std::size_t>(objective.examples()));
  std::iota(examples.begin(), examples.end(), 0);
  const Batch batch = objective.collate(examples, {.seed = 3});
  std::vector<std::int64_t> text;
  std::int64_t longest = 0;
  for (std::int64_t b = 0; b < objective.examples(); ++b) {
    const TokenIds input = ids_of(batch.tokens, b),
                   target = ids_of(batch.token_labels, batch.target.offsets, b),
                   read = ids_of(batch.target, b);
    EXPECT_EQ(input.back(), end);
    EXPECT_EQ(target.back(), end);
    EXPECT_EQ(read.front(), 1) << "the decoder begins with its start token";
    EXPECT_TRUE(std::equal(read.begin() + 1, read.end(), target.begin()));
    EXPECT_EQ(std::max(input.size(), target.size()), objective.tokens(b));
    longest = std::max<std::int64_t>(longest, input.size());
    EXPECT_LT(input.front(), input.size() > 0 ? 1000 : 0);
    std::size_t place = 0;
    std::int64_t spans = 0;
    for (std::size_t i = 0; i + 1 < input.size(); ++i) {
      if (input[i] != sentinel - spans) {
        EXPECT_GE(input[i], t.first_word());
        text.push_back(input[i]);
        continue;
      }
      EXPECT_NE(i, 0) << "a text begins with what is kept";
      ASSERT_EQ(target[place++], sentinel - spans++);
      const std::size_t before = text.size();
      while (target[place] >= t.first_word()) text.push_back(target[place++]);
      EXPECT_GT(text.size(), before);
    }
    EXPECT_EQ(place + 1, target.size());
  }
  EXPECT_EQ(longest, 64);
  const TokenRows rows = tokenize_documents(t.tokenizer(), t.setting().files);
  EXPECT_EQ(text, std::vector<std::int64_t>(rows.ids().begin(), rows.ids().end()));
  EXPECT_EQ(batch.counts[0], batch.token_labels.numel());
}

TEST(SpanCorruption, FollowsFromSeedEpochAndNumberAlone) {
  SmallSetting t = t5(40);
  t.write("train.txt", 900, 7, 200);
  t.recipe.max_length = 100;  // several spans: a single one is always at the end
  const SpanCorruption objective(t.setting());
  const auto input = [&](std::vector<std::int64_t> examples, Draws draws) {
    return ids_of(objective.collate(examples, draws).tokens, 0);
  };
  EXPECT_EQ(input({3}, {1, 2}), input({3, 1}, {1, 2}));
  EXPECT_NE(input({3}, {1, 2}), input({3}, {1, 3}));
  EXPECT_NE(input({3}, {1, 2}), input({3}, {2, 2}));
}

TEST(SpanCorruption, RefusesImpossibleOptions) {
  SmallSetting t = t5(5);
  t.write("train.txt", 500, 7, 40);
  const auto error = [&](const SmallSetting& s) { return error_of([&] { SpanCorruption{s.setting()}; }); };
  EXPECT_TRUE(contains(error(t), "28 spans of 568 tokens are hidden, and the tokenizer has 5 tokens"));
  t.recipe.max_length = 3;
  SpanCorruption{t.setting()};
  t.recipe.max_length = 2;
  EXPECT_TRUE(contains(error(t), "`max_length` 2: expected room"));
  t.recipe.max_length = 64;
  t.recipe.mean_span = 0.5;
  EXPECT_TRUE(contains(error(t), "`mean_span` 0.5: expected 1 at least"));
  t.recipe.mean_span = 3;
  t.recipe.mask_rate = 1;
  EXPECT_TRUE(contains(error(t), "`mask_rate` 1: expected a number between 0 and 1"));
  SmallSetting words = t5(5);
  words.write("train.txt", 5, 1, 1);
  words.recipe.max_length = 8;
  EXPECT_TRUE(contains(error(words), "expected texts of two tokens at least"));
  SmallSetting none = t5(0);
  none.write("train.txt", 50, 7, 4);
  EXPECT_TRUE(contains(error(none), "expected a tokenizer that has them"));
}

}  // namespace
}  // namespace attend
