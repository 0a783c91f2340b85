#include "objectives/translation_language_model.h"

#include "objectives/masked_language_model.h"
#include "objectives/shared/languages.h"
#include "tensor_checks.h"
#include "word_setting.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

const Json kLanguages = {
    {"n_langs", 2}, {"lang2id", {{"en", 0}, {"de", 1}}}, {"emb_dim", 16}, {"n_layers", 1},
    {"n_heads", 2}, {"max_position_embeddings", 40},     {"pad_index", 0}};

std::string lines(std::uint64_t seed, std::int64_t count) {
  Random random(seed);
  std::string text;
  for (std::int64_t i = 0; i < count; ++i)
    text += random_sentence(random, 1 + static_cast<std::int64_t>(random.below(6))) + "\n";
  return text;
}

std::vector<std::int64_t> numbers(const Tensor& t) {
  return {t.const_data<std::int64_t>(), t.const_data<std::int64_t>() + t.numel()};
}

TEST(TranslationLanguageModel, PositionsBeginAnewAndTokensKnowTheirLanguage) {
  WordSetting words("xlm", Head::masked_language_model, kLanguages);
  words.add_file("train.en", "a b c\n");
  words.add_file("train.de", "d e\n");
  words.recipe.noise.mask_rate = 0;
  const TranslationLanguageModel objective(words.setting());
  const std::int64_t example = 0;
  const Batch batch = objective.collate({&example, 1}, {});
  const std::int64_t a = kFirstLetter;
  EXPECT_EQ(numbers(batch.tokens.ids),
            (std::vector<std::int64_t>{kCls, a, a + 1, a + 2, kSep, kCls, a + 3, a + 4, kSep}));
  EXPECT_EQ(numbers(batch.tokens.positions), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 0, 1, 2, 3}));
  EXPECT_EQ(numbers(batch.tokens.languages), (std::vector<std::int64_t>{0, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(objective.tokens(0), 9);
}

TEST(TranslationLanguageModel, OthersReadAPair) {
  WordSetting words("bert", Head::masked_language_model);
  words.add_file("train.en", "a b c\n");
  words.add_file("train.de", "d e\n");
  words.recipe.noise.mask_rate = 0;
  const TranslationLanguageModel objective(words.setting());
  const std::int64_t example = 0;
  const Batch batch = objective.collate({&example, 1}, {});
  const std::int64_t a = kFirstLetter;
  EXPECT_EQ(numbers(batch.tokens.ids),
            (std::vector<std::int64_t>{kCls, a, a + 1, a + 2, kSep, a + 3, a + 4, kSep}));
  EXPECT_EQ(numbers(batch.tokens.positions), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(batch.tokens.languages.defined());
  EXPECT_EQ(objective.tokens(0), 8);
}

TEST(TranslationLanguageModel, HidesTokensOfBothSides) {
  WordSetting words("xlm", Head::masked_language_model, kLanguages);
  words.add_file("train.en", lines(1, 2000));
  words.add_file("train.de", lines(2, 2000));
  const TranslationLanguageModel objective(words.setting());
  std::int64_t hidden[2] = {}, tokens[2] = {};
  for (std::int64_t example = 0; example < objective.examples(); ++example) {
    const Batch batch = objective.collate({&example, 1}, {1, 0});
    ASSERT_EQ(batch.tokens.ids.numel(), objective.tokens(example));
    for (int side : {0, 1}) {
      const Tensor own = batch.tokens.languages.eq(side);
      tokens[side] += own.sum().item<std::int64_t>() - 2;
      hidden[side] += batch.token_labels.ne(kIgnoredLabel).logical_and(own).sum().item<std::int64_t>();
    }
  }
  for (int side : {0, 1})
    EXPECT_NEAR(static_cast<double>(hidden[side]) / static_cast<double>(tokens[side]), 0.15, 0.02) << side;
}

TEST(TranslationLanguageModel, SaysWhatIsWrongWithTheFiles) {
  const auto message = [](const std::vector<std::pair<std::string, std::string>>& files,
                          const std::vector<std::string>& languages = {}) {
    WordSetting words("xlm", Head::masked_language_model, kLanguages);
    for (const auto& [name, text] : files) words.add_file(name, text);
    words.recipe.data.languages = languages;
    return error_of([&] { TranslationLanguageModel objective(words.setting()); });
  };
  EXPECT_TRUE(contains(message({{"train.en", "a\n"}}), "two files"));
  EXPECT_TRUE(contains(message({{"train.en", "a\nb\n"}, {"train.de", "a\n"}}), "2 lines"));
  EXPECT_TRUE(contains(message({{"train.en", "\n"}, {"train.de", "a\n"}}), "no pair of lines"));
  EXPECT_TRUE(contains(message({{"train.en", "a\n"}, {"train.fr", "a\n"}}), "\"fr\" is none"));
  EXPECT_TRUE(contains(message({{"train.en", "a\n"}, {"train.fr", "a\n"}}, {"en", "xx"}), "en, de"));
  EXPECT_TRUE(contains(message({{"train.en", "a\n"}, {"train.fr", "a\n"}}, {"en", "de", "en"}), "found 3"));
}

TEST(Languages, ByEndingByNameByNumber) {
  WordSetting words("xlm", Head::masked_language_model, kLanguages);
  words.add_file("a.de", "a\n");
  words.add_file("b.en", "a\n");
  EXPECT_EQ(file_languages(words.setting()), (std::vector<std::int64_t>{1, 0}));
  words.recipe.data.languages = {"en"};
  EXPECT_EQ(file_languages(words.setting()), (std::vector<std::int64_t>{0, 0}));
  words.recipe.data.languages = {"1", "de"};
  EXPECT_EQ(file_languages(words.setting()), (std::vector<std::int64_t>{1, 1}));
  WordSetting none("bert", Head::masked_language_model);
  none.add_file("a.de", "a\n");
  EXPECT_TRUE(file_languages(none.setting()).empty());
  none.recipe.data.languages = {"de"};
  EXPECT_TRUE(contains(error_of([&] { file_languages(none.setting()); }), "no vectors for languages"));
}

TEST(MaskedLanguageModel, ReadsEachFileInItsLanguage) {
  WordSetting words("xlm", Head::masked_language_model, kLanguages);
  words.add_file("a.en", "a b c\n");
  words.add_file("b.de", "d e\n");
  const MaskedLanguageModel objective(words.setting(), {.rate = 0});
  ASSERT_EQ(objective.examples(), 2);
  const std::vector<std::int64_t> both = {0, 1};
  EXPECT_EQ(numbers(objective.collate(both, {}).tokens.languages),
            (std::vector<std::int64_t>{0, 0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(MaskedLanguageModel, RefusesCausalModels) {
  Json causal = kLanguages;
  causal["causal"] = true;
  WordSetting words("xlm", Head::masked_language_model, causal);
  words.add_file("a.en", "a b c\n");
  EXPECT_TRUE(contains(error_of([&] { MaskedLanguageModel objective(words.setting(), {}); }), "causal"));
}

}  // namespace
}  // namespace attend
