#include "objectives/denoising.h"

#include "objectives/shared/text_noise.h"
#include "objectives/small_setting.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace attend {
namespace {

constexpr TokenId kHole = -7;

std::vector<TokenId> counted(int count) {
  std::vector<TokenId> text(static_cast<std::size_t>(count));
  std::iota(text.begin(), text.end(), 0);
  return text;
}

TEST(TextNoise, DrawsFromPoissonsDistribution) {
  Random random(3);
  constexpr int kDraws = 40000;
  std::vector<int> seen(30);
  for (int i = 0; i < kDraws; ++i) ++seen[static_cast<std::size_t>(draw_poisson(3, 29, random))];
  double probability = std::exp(-3.0);
  for (std::size_t k = 0; k < 10; probability *= 3.0 / static_cast<double>(++k)) {
    const double deviation = std::sqrt(kDraws * probability * (1 - probability));
    EXPECT_NEAR(seen[k], kDraws * probability, 4 * deviation) << k;
  }
  EXPECT_EQ(draw_poisson(1e9, 12, random), 12);
}

TEST(TextNoise, FillsInSpans) {
  Random random(4);
  const std::vector<TokenId> text = counted(100);
  constexpr int kRounds = 2000;
  int hidden = 0, masks = 0, nothing = 0;
  std::vector<int> first(100);  // how often each token is hidden
  for (int round = 0; round < kRounds; ++round) {
    std::vector<TokenId> filled = text;
    fill_in_spans(filled, kHole, 0.3, 3, 1000, random);
    TokenId next = 0;
    int waiting = 0;  // masks since the last kept token
    const auto close = [&](TokenId until) {
      if (until == next) nothing += waiting;
      EXPECT_TRUE(until == next || waiting > 0) << "what is hidden leaves a mask";
      for (; next < until; ++next, ++hidden) ++first[static_cast<std::size_t>(next)];
      waiting = 0;
    };
    for (const TokenId id : filled) {
      if (id == kHole) {
        ++waiting, ++masks;
        continue;
      }
      close(id);
      ++next;
    }
    close(100);
  }
  EXPECT_EQ(hidden, 30 * kRounds);
  // Spans with Poisson lengths until they have 30 tokens: 30 / 3 plus half a span, because the last one is
  // truncated.
  EXPECT_NEAR(static_cast<double>(masks) / kRounds, 30.0 / 3 + 0.5, 0.4);
  EXPECT_GT(nothing, kRounds / 10);
  // At the ends of a text fewer tokens are hidden, because a span of any length counts as one of few units.
  for (int token = 8; token < 92; ++token)
    EXPECT_NEAR(first[static_cast<std::size_t>(token)], 0.3 * kRounds, 100);

  // The rate is correct on average, for texts of any length.
  hidden = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<TokenId> filled = counted(4);
    fill_in_spans(filled, kHole, 0.3, 1e9, 4, random);
    hidden +=
        4 - static_cast<int>(std::count_if(filled.begin(), filled.end(), [](TokenId id) { return id >= 0; }));
    EXPECT_LE(filled.size(), 4) << "longer than it may be";
  }
  EXPECT_NEAR(hidden, 1.2 * kRounds, 90);
}

TEST(TextNoise, DeletesMasksRotatesAndPermutes) {
  Random random(5);
  int left = 0, masks = 0;
  std::set<TokenId> firsts;
  std::set<std::vector<TokenId>> orders;
  for (int round = 0; round < 1000; ++round) {
    std::vector<TokenId> text = counted(50);
    delete_tokens(text, 0.2, random);
    EXPECT_TRUE(std::is_sorted(text.begin(), text.end()));
    left += static_cast<int>(text.size());
    text = counted(50);
    mask_tokens(text, kHole, 0.2, random);
    masks += static_cast<int>(std::count(text.begin(), text.end(), kHole));
    for (TokenId i = 0; i < 50; ++i)
      EXPECT_TRUE(text[static_cast<std::size_t>(i)] == i || text[static_cast<std::size_t>(i)] == kHole);
    text = counted(20);
    rotate_text(text, random);
    firsts.insert(text.front());
    for (std::size_t i = 1; i < 20; ++i) EXPECT_EQ(text[i], (text[i - 1] + 1) % 20);
    const std::vector<TokenId> whole = counted(6);
    const std::span<const TokenId> all(whole);
    orders.insert(permute_sentences({all.first(1), all.subspan(1, 2), all.last(3)}, random));
  }
  EXPECT_NEAR(left, 40000, 400);
  EXPECT_NEAR(masks, 10000, 400);
  EXPECT_EQ(firsts.size(), 20);
  const std::set<std::vector<TokenId>> expected{{0, 1, 2, 3, 4, 5}, {0, 3, 4, 5, 1, 2}, {1, 2, 0, 3, 4, 5},
                                                {1, 2, 3, 4, 5, 0}, {3, 4, 5, 0, 1, 2}, {3, 4, 5, 1, 2, 0}};
  EXPECT_EQ(orders, expected);
  std::vector<TokenId> one = counted(3);
  delete_tokens(one, 1, random);
  EXPECT_EQ(one.size(), 1) << "something is left to read";
}

SmallSetting bart(bool mask = true) {
  std::vector<std::string> specials{"<unk>", "<pad>", "<s>", "</s>"};
  if (mask) specials.push_back("<mask>");
  return SmallSetting({{"model_type", "bart"},
                       {"architectures", {"BartForConditionalGeneration"}},
                       {"d_model", 16},
                       {"encoder_layers", 1},
                       {"decoder_layers", 1},
                       {"encoder_attention_heads", 2},
                       {"decoder_attention_heads", 2},
                       {"encoder_ffn_dim", 32},
                       {"decoder_ffn_dim", 32},
                       {"max_position_embeddings", 40},
                       {"pad_token_id", 1},
                       {"bos_token_id", 2},
                       {"eos_token_id", 3},
                       {"forced_eos_token_id", 3},
                       {"decoder_start_token_id", 3}},
                      specials, {"<s>"}, {"</s>"});
}

Batch all_of(const Objective& objective) {
  std::vector<std::int64_t> examples(static_cast<std::size_t>(objective.examples()));
  std::iota(examples.begin(), examples.end(), 0);
  return objective.collate(examples, {.seed = 3});
}

TEST(Denoising, WritesTheTextAsItWas) {
  SmallSetting b = bart();
  b.write("train.txt", 3000, 7, 40);
  const Denoising objective(b.setting());
  const Batch batch = all_of(objective);
  TokenIds text;
  std::int64_t words = 0;
  for (std::int64_t i = 0; i < objective.examples(); ++i) {
    const TokenIds input = ids_of(batch.tokens, i),
                   target = ids_of(batch.token_labels, batch.target.offsets, i);
    EXPECT_EQ(ids_of(batch.target, i).front(), 3);
    for (const TokenIds& ids : {input, target}) {
      EXPECT_EQ(ids.front(), 2);
      EXPECT_EQ(ids.back(), 3);
      EXPECT_LE(ids.size(), 40);
    }
    text.insert(text.end(), target.begin() + 1, target.end() - 1);
    words += std::count_if(input.begin(), input.end(), [&](std::int64_t id) { return id >= b.first_word(); });
    // The remaining tokens are in order.
    auto at = target.begin();
    for (const std::int64_t id : input) {
      if (id == 4) continue;
      at = std::find(at, target.end(), id);
      ASSERT_NE(at, target.end());
      ++at;
    }
  }
  EXPECT_NEAR(words, 0.7 * 3000, 40) << "30 of 100 tokens are hidden, where nothing else is said";
  const TokenRows rows = tokenize_documents(b.tokenizer(), b.setting().files);
  EXPECT_EQ(text, TokenIds(rows.ids().begin(), rows.ids().end()));
}

TEST(Denoising, PermutesWholeSentencesAndRotates) {
  SmallSetting b = bart();
  b.write("train.txt", 3000, 7, 40);
  b.recipe.mask_rate = 0;
  b.recipe.permute_sentences = 0.5;
  const Denoising objective(b.setting());
  const Batch batch = all_of(objective);
  int moved = 0, with_several = 0;
  const TokenRows rows = tokenize_documents(b.tokenizer(), b.setting().files);
  std::set<TokenIds> sentences;
  for (std::int64_t row = 0; row < rows.count(); ++row) sentences.emplace(rows[row].begin(), rows[row].end());
  for (std::int64_t i = 0; i < objective.examples(); ++i) {
    const TokenIds input = ids_of(batch.tokens, i),
                   target = ids_of(batch.token_labels, batch.target.offsets, i);
    ASSERT_EQ(input.size(), target.size());
    with_several += input.size() > 9;
    moved += input != target;
    for (std::size_t at = 1; at + 1 < input.size(); at += 7)
      EXPECT_TRUE(sentences.count(
                      TokenIds(input.begin() + at, input.begin() + std::min(at + 7, input.size() - 1))) > 0);
  }
  EXPECT_GT(moved, with_several / 4);
  EXPECT_LT(moved, with_several * 3 / 4);

  b.recipe.permute_sentences = 0;
  b.recipe.rotate = 1;
  const Batch rotated = all_of(Denoising(b.setting()));
  const TokenIds input = ids_of(rotated.tokens, 0),
                 target = ids_of(rotated.token_labels, rotated.target.offsets, 0);
  TokenIds twice(target.begin() + 1, target.end() - 1);
  twice.insert(twice.end(), target.begin() + 1, target.end() - 1);
  EXPECT_NE(std::search(twice.begin(), twice.end(), input.begin() + 1, input.end() - 1), twice.end());
}

TEST(Denoising, HidesTokensOneByOneOrLeavesThemOut) {
  SmallSetting b = bart();
  b.write("train.txt", 3000, 7, 40);
  b.recipe.infilling = "tokens";
  b.recipe.mask_rate = 0.15;
  const Batch hidden = all_of(Denoising(b.setting()));
  EXPECT_EQ(hidden.tokens.offsets.lengths(), hidden.target.offsets.lengths());
  EXPECT_NEAR(hidden.tokens.ids.eq(4).sum().item<std::int64_t>(), 450, 90);
  b.recipe.mask_rate = 0;
  b.recipe.delete_rate = 0.2;
  const Batch deleted = all_of(Denoising(b.setting()));
  EXPECT_NEAR(deleted.target.offsets.total() - deleted.tokens.offsets.total(), 600, 90);
}

TEST(Denoising, RefusesImpossibleOptions) {
  SmallSetting b = bart(/*mask=*/false);
  b.write("train.txt", 300, 7, 40);
  const auto error = [](const SmallSetting& s) { return error_of([&] { Denoising{s.setting()}; }); };
  EXPECT_TRUE(contains(error(b), "expected a tokenizer with a mask_token"));
  SmallSetting other = bart();
  other.write("train.txt", 300, 7, 40);
  other.recipe.infilling = "words";
  EXPECT_TRUE(contains(error(other), "`infilling` words: expected spans or tokens"));
  other.recipe.infilling = "spans";
  other.recipe.rotate = std::nan("");
  EXPECT_TRUE(contains(error(other), "`rotate` nan: expected a number from 0 to 1"));
  other.recipe.rotate = 0;
  other.recipe.mean_span = 0;
  EXPECT_TRUE(contains(error(other), "`mean_span` 0: expected 1 at least"));
}

}  // namespace
}  // namespace attend
