#include "objectives/permutation_language_model.h"

#include "objectives/small_setting.h"
#include "tensor_checks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace attend {
namespace {

// transformers' DataCollatorForPermutationLanguageModeling, step by step.
TEST(PermutationLanguageModel, DrawsSpansWithTextAround) {
  Random random(7);
  const PredictedSpans spans;
  constexpr std::int64_t kLength = 60000;
  const std::vector<std::int64_t> predicted = draw_predicted(kLength, spans, random);
  EXPECT_TRUE(std::is_sorted(predicted.begin(), predicted.end()));
  EXPECT_EQ(std::set<std::int64_t>(predicted.begin(), predicted.end()).size(), predicted.size());
  EXPECT_NEAR(static_cast<double>(predicted.size()), kLength / 6.0, 20)
      << "a piece has six times its span's tokens";
  EXPECT_LT(predicted.back(), kLength);

  // In the first piece: 1 to 5 tokens, equally often at each position.
  std::map<std::pair<std::int64_t, std::int64_t>, int> first;
  constexpr int kRounds = 60000;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<std::int64_t> text = draw_predicted(30, {.longest = 2}, random);
    std::size_t end = 1;
    if (text[1] == text[0] + 1) ++end;
    if (text[end] == text[end - 1] + 1) continue;  // the next span follows immediately
    ++first[{text[0], static_cast<std::int64_t>(end)}];
  }
  for (std::int64_t place = 0; place < 5; ++place)  // of 6; the last may touch the next span
    EXPECT_NEAR((first[{place, 1}]), kRounds / 2.0 / 6, 350) << place;
  for (std::int64_t place = 0; place < 10; ++place)
    EXPECT_NEAR((first[{place, 2}]), kRounds / 2.0 / 11, 450) << place;
}

TEST(PermutationLanguageModel, OrdersWhatIsPredictedAndNothingElse) {
  Random random(8);
  const EncodedText text{.ids = {9, 10, 11, 12, 13, 14, 2, 1}, .types = {}};
  const std::vector<bool> special{false, false, false, false, false, false, true, true};
  std::map<TokenIds, int> orders;  // of two neighbours
  std::vector<int> often(8);
  for (int round = 0; round < 20000; ++round) {
    const PermutedText permuted = permute(text, special, {.rate = 0.5, .longest = 3}, random);
    EXPECT_FALSE(permuted.predicted.empty());
    TokenIds ranks;
    for (std::size_t token = 0; token < 8; ++token) {
      const bool predicted = std::count(permuted.predicted.begin(), permuted.predicted.end(), token) > 0;
      EXPECT_EQ(permuted.order[token] >= 0, predicted);
      EXPECT_FALSE(predicted && special[token]);
      if (predicted) ranks.push_back(permuted.order[token]);
      often[token] += predicted;
    }
    TokenIds sorted = ranks;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
    if (ranks.size() == 3) ++orders[ranks];
  }
  ASSERT_EQ(orders.size(), 6);
  const int all =
      std::accumulate(orders.begin(), orders.end(), 0, [](int sum, const auto& o) { return sum + o.second; });
  EXPECT_GT(all, 1000);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, all / 6.0, 5 * std::sqrt(all / 6.0));
}

TEST(PermutationLanguageModel, LeavesSomethingToPredictAndToPredictFrom) {
  Random random(9);
  for (int round = 0; round < 200; ++round) {
    EXPECT_EQ(permute({.ids = {5, 6}, .types = {}}, {false, false}, {}, random).predicted.size(), 1);
    EXPECT_EQ(permute({.ids = {5, 6, 1}, .types = {}}, {false, true, true}, {}, random).predicted,
              TokenIds{0});
    EXPECT_TRUE(permute({.ids = {5}, .types = {}}, {false}, {}, random).predicted.empty());
    EXPECT_TRUE(permute({.ids = {5, 6}, .types = {}}, {true, true}, {}, random).predicted.empty());
  }
}

SmallSetting xlnet() {
  return SmallSetting({{"model_type", "xlnet"},
                       {"architectures", {"XLNetLMHeadModel"}},
                       {"d_model", 16},
                       {"n_layer", 2},
                       {"n_head", 2},
                       {"d_inner", 32},
                       {"dropout", 0.0},
                       {"pad_token_id", 1}},
                      {"<unk>", "<pad>", "<sep>", "<cls>"}, {}, {"<sep>", "<cls>"});
}

TEST(PermutationLanguageModel, MakesBatchesOfTwoStreams) {
  SmallSetting x = xlnet();
  x.write("train.txt", 2000, 9, 30);
  x.recipe.data.max_length = 32;
  const PermutationLanguageModel objective(x.setting());
  std::vector<std::int64_t> examples(static_cast<std::size_t>(objective.examples()));
  std::iota(examples.begin(), examples.end(), 0);
  const Batch batch = objective.collate(examples, {.seed = 2});
  TokenIds text;
  std::int64_t predicted = 0;
  for (std::int64_t b = 0; b < objective.examples(); ++b) {
    const std::int64_t length = objective.tokens(b), queries = batch.tokens.offsets.length(b) - length;
    EXPECT_LE(length, 32);
    EXPECT_GE(queries, 1);
    predicted += queries;
    const TokenIds ids = ids_of(batch.tokens, b),
                   labels = ids_of(batch.token_labels, batch.tokens.offsets, b);
    text.insert(text.end(), ids.begin(), ids.begin() + length - 2);
    EXPECT_EQ(ids[static_cast<std::size_t>(length) - 2], 2);
    EXPECT_EQ(ids[static_cast<std::size_t>(length) - 1], 3);
    for (std::int64_t i = 0; i < length; ++i) EXPECT_EQ(labels[static_cast<std::size_t>(i)], kIgnoredLabel);
    const Tensor positions = batch.tokens.offsets.part(batch.tokens.positions, b);
    for (std::int64_t i = length; i < length + queries; ++i)
      EXPECT_EQ(labels[static_cast<std::size_t>(i)],
                ids[static_cast<std::size_t>(positions[i].item<std::int64_t>())]);
  }
  EXPECT_EQ(batch.counts[0], predicted);
  EXPECT_NEAR(static_cast<double>(predicted), 2000 / 6.0, 40);
  const TokenRows rows = tokenize_documents(x.tokenizer(), x.setting().files);
  EXPECT_EQ(text, TokenIds(rows.ids().begin(), rows.ids().end()));
}

// No prediction depends on a token that is later in the order, through any number of layers.
TEST(PermutationLanguageModel, TellsNothingOfLaterTokens) {
  SmallSetting x = xlnet();
  Trainee trainee = x.trainee();
  Random random(3);
  EncodedText text;
  for (int i = 0; i < 12; ++i) text.ids.push_back(4 + i);
  text.ids.insert(text.ids.end(), {2, 3});
  std::vector<bool> special(14);
  special[12] = special[13] = true;
  const PermutedText permuted = permute(text, special, {.rate = 0.5}, random);
  ASSERT_GE(permuted.predicted.size(), 3);
  const auto encode = [&](const PermutedText& t) {
    Unrecorded inference;
    Pass pass = Pass::inference();
    const TwoStreams streams = two_streams({t});
    return trainee.network()->encode(streams.batch, pass).index_select(0, streams.targets);
  };
  const Tensor before = encode(permuted);
  for (std::size_t i = 0; i < permuted.predicted.size(); ++i) {
    PermutedText changed = permuted;
    const auto token = static_cast<std::size_t>(permuted.predicted[i]);
    changed.ids[token] = 40;
    const Tensor after = encode(changed);
    for (std::size_t k = 0; k < permuted.predicted.size(); ++k) {
      const auto other = static_cast<std::size_t>(permuted.predicted[k]);
      const bool later = permuted.order[other] > permuted.order[token];
      const auto row = static_cast<std::int64_t>(k);
      EXPECT_EQ(ops::equal(before[row], after[row]), !later);
    }
  }
}

}  // namespace
}  // namespace attend
