// Forced words: how they are counted, and how a search produces them.
#include "generation/search/forced_words.h"

#include "generation/generate.h"
#include "generation/models.h"
#include "temporary_directory.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;

std::vector<std::pair<std::int64_t, std::int64_t>> advances(const ForcedWords& words, const Ids& text) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  for (const auto& [token, bank] : words.advances(words.begin(text))) result.emplace_back(token, bank);
  return result;
}

TEST(ForcedWords, FollowsOneWordAtATime) {
  const std::vector<ForcedWord> given = {{{1, 2, 3}}, {{4}}};
  const ForcedWords words(given);
  const auto bank = [&](const Ids& text) { return words.bank(words.begin(text)); };
  EXPECT_EQ(bank({}), 0);
  EXPECT_EQ(bank({1}), 1);
  EXPECT_EQ(bank({9, 1, 2}), 2);
  EXPECT_EQ(bank({1, 2, 3}), 3);
  EXPECT_EQ(bank({1, 4}), 0);  // the token that breaks off a word begins no other word
  EXPECT_EQ(bank({1, 4, 4}), 3);
  EXPECT_TRUE(words.begin(Ids{4, 1, 2, 3}).completed());
  EXPECT_TRUE(words.begin(Ids{4, 1, 2, 3, 1, 9}).completed());
  EXPECT_FALSE(words.begin(Ids{1, 2, 3, 1}).completed());
  EXPECT_EQ(advances(words, {}), (std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {4, 3}}));
  EXPECT_EQ(advances(words, {1}), (std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 2}}));
  EXPECT_TRUE(advances(words, {4, 1, 2, 3}).empty());
}

TEST(ForcedWords, TakesOnePhraseOfSeveral) {
  const std::vector<ForcedWord> given = {{{1, 2}, {1, 3, 4}, {5}}};
  const ForcedWords words(given);
  EXPECT_TRUE(words.begin(Ids{5}).completed());
  EXPECT_TRUE(words.begin(Ids{1, 3, 4}).completed());
  EXPECT_FALSE(words.begin(Ids{1, 3, 5}).completed());
  EXPECT_EQ(advances(words, {}), (std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {5, 3}}));
  // As in the original: after 2, which ends the word, 3 counts as breaking it off.
  EXPECT_EQ(advances(words, {1}), (std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 3}, {3, 0}}));
}

TEST(ForcedWords, ComeInEveryText) {
  for (const char* name : {"gpt2-generation", "marian-generation"}) {
    const PretrainedModel model = load_model(name);
    GenerationConfig config = generation_config_of(model);
    config.max_new_tokens = 20;
    config.num_beams = 4;
    config.force_words_ids = {{{11, 12}}, {{38, 13}, {36}}};
    const auto prompts = make_prompts(5);
    const auto texts = generate(model, prompts, config);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      Ids all = texts[i].ids;
      if (!model.network()->is_encoder_decoder())  // words in the prompt count
        all.insert(all.begin(), prompts[i].begin(), prompts[i].end());
      EXPECT_FALSE(std::ranges::search(all, Ids{11, 12}).empty()) << name;
      EXPECT_TRUE(!std::ranges::search(all, Ids{38, 13}).empty() || std::ranges::count(all, 36) > 0) << name;
    }
  }
}

TEST(ForcedWords, RefusesImpossiblePhrases) {
  const PretrainedModel model = load_model("gpt2-generation");
  const auto error = [&](const char* settings) {
    return error_of([&] {
      GenerationConfig config = generation_config_of(model);
      apply_fields(config, Fields(Json::parse(settings), "settings"), FieldsFrom::caller);
      generate(model, make_prompts(1), config);
    });
  };
  EXPECT_TRUE(contains(error(R"({"force_words_ids": [[3]]})"), "set num_beams above 1"));
  EXPECT_TRUE(contains(error(R"({"num_beams": 2, "force_words_ids": [[99]]})"), "vocabulary"));
  EXPECT_TRUE(
      contains(error(R"({"num_beams": 2, "force_words_ids": [[3]], "do_sample": true})"), "do_sample"));
  EXPECT_TRUE(contains(error(R"({"num_beams": 2, "force_words_ids": [[[3], [3, 4]]]})"), "the beginning of"));
  const auto none = [&](const std::string& words) {
    return error((R"({"num_beams": 2, "force_words_ids": )" + words + "}").c_str());
  };
  EXPECT_EQ(
      none("[]"),
      "settings: force_words_ids: expected a list of lists of integers or lists of lists of integers that "
      "is not empty, found []");
  for (const char* word : {"[]", "[[]]", "3", "[3,[4]]"})
    EXPECT_EQ(none(fmt::format("[{}]", word)),
              fmt::format("settings: force_words_ids[0]: expected a list of integers or a list of lists of "
                          "integers, found {}",
                          word));
  GenerationConfig config = generation_config_of(model);
  config.num_beams = 2;
  for (const ForcedWord& empty : {ForcedWord{}, ForcedWord{{}}}) {
    config.force_words_ids.assign(1, empty);
    EXPECT_TRUE(contains(error_of([&] { check_config(config, 41); }), "at least one token"));
  }
}

}  // namespace
}  // namespace attend
