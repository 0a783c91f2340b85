#include "generation/forms/stop_strings.h"

#include "generation/generate.h"
#include "generation/models.h"
#include "generation/tokenizers.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::int64_t kA = 0, kB = 1, kEnd = 5;  // of byte_tokenizer

bool completed(const StopStrings& stops, std::vector<std::int64_t> tokens) {
  return stops.completed_by(tokens, std::ssize(tokens));
}

TEST(StopStrings, AcrossTokensAndOnlyByTheLastOne) {
  const TemporaryDirectory directory;
  const Tokenizer tokenizer = byte_tokenizer(directory);
  const StopStrings stops({"aba", "\u20ac", "d>b"}, &tokenizer);
  EXPECT_FALSE(completed(stops, {}));
  EXPECT_FALSE(completed(stops, {kA, kB}));
  EXPECT_TRUE(completed(stops, {kB, kB, kA, kB, kA}));
  EXPECT_FALSE(completed(stops, {kA, kB, kA, kB}));  // it was there before
  EXPECT_TRUE(completed(stops, {kA, kB, kA, kB, kA}));
  EXPECT_FALSE(completed(stops, {kA, 2, 3}));  // half a euro sign
  EXPECT_TRUE(completed(stops, {kA, 2, 3, 4}));
  EXPECT_TRUE(completed(stops, {kA, kEnd, kB}));                         // special tokens are text as well
  EXPECT_TRUE(completed(StopStrings({"<en"}, &tokenizer), {kA, kEnd}));  // the token continues after it
}

TEST(StopStrings, MayBeginInThePromptOrNot) {
  const TemporaryDirectory directory;
  const Tokenizer tokenizer = byte_tokenizer(directory);
  const StopStrings anywhere({"ab", "\u20ac"}, &tokenizer),
      later({"ab", "\u20ac"}, &tokenizer, StopStrings::Scope::new_text);
  for (const auto& [tokens, made, is_new] :
       std::vector<std::tuple<std::vector<std::int64_t>, std::int64_t, bool>>{
           {{kB, kA, kB}, 1, false},
           {{kB, kA, kB}, 2, true},
           {{kA, kB}, 2, true},
           {{kA, kB, kB, kA, kB}, 1, false},
           {{kA, kB, kA, kB}, 2, true},
           {{kA, 2, 3, 4}, 1, true}}) {  // a character that becomes complete is new
    EXPECT_TRUE(anywhere.completed_by(tokens, made));
    EXPECT_EQ(later.completed_by(tokens, made), is_new) << tokens.size() << ", new " << made;
  }
}

TEST(StopStrings, RefusesImpossibleStrings) {
  const TemporaryDirectory directory;
  const Tokenizer tokenizer = byte_tokenizer(directory);
  EXPECT_TRUE(contains(error_of([&] { StopStrings({"a", ""}, &tokenizer); }), "empty"));
  EXPECT_TRUE(contains(error_of([] { StopStrings({"a"}, nullptr); }), "tokenizer"));
  EXPECT_TRUE(StopStrings({}, nullptr).empty());
}

// Each token is one character.
Tokenizer characters(const TemporaryDirectory& directory, std::int64_t count) {
  Json vocabulary = Json::object();
  for (std::int64_t i = 0; i < count; ++i) vocabulary[std::string(1, static_cast<char>('0' + i))] = i;
  return Tokenizer::from_file(directory.file(
      "tokenizer.json", Json{{"version", "1.0"},
                             {"added_tokens", Json::array()},
                             {"decoder", {{"type", "Fuse"}}},
                             {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}}
                            .dump()));
}

// The stop string is the text of two tokens that are generated without it.
TEST(StopStrings, EndATextWithTheTokenThatCompletesThem) {
  const TemporaryDirectory directory;
  const PretrainedModel model = load_model("gpt2-generation");
  const Tokenizer tokenizer = characters(directory, 41);
  const auto prompts = make_prompts(5);
  for (const Json& settings :
       {Json{{"max_new_tokens", 15}}, Json{{"max_new_tokens", 15}, {"num_beams", 3}}}) {
    GenerationConfig config = generation_config_of(model);
    apply_fields(config, Fields(settings, "settings"), FieldsFrom::caller);
    config.eos_token_id.clear();
    const auto whole = generate(model, prompts, config);
    const std::vector<TokenId> pair(whole[0].ids.begin() + 4, whole[0].ids.begin() + 6);
    config.stop_strings = {tokenizer.decode(pair)};
    ASSERT_EQ(config.stop_strings[0].size(), 2u);
    EXPECT_TRUE(contains(error_of([&] { generate(model, prompts, config); }), "stop_strings"));
    const auto stopped = generate(model, prompts, config, {.tokenizer = &tokenizer});
    if (config.num_beams == 1) {
      EXPECT_LE(stopped[0].ids.size(), 6u);
    }
    for (std::size_t i = 0; i < stopped.size(); ++i) {
      std::vector<TokenId> all(prompts[i].begin(), prompts[i].end());
      all.insert(all.end(), stopped[i].ids.begin(), stopped[i].ids.end());
      const std::string text = tokenizer.decode(all);
      const std::size_t place = text.find(config.stop_strings[0], prompts[i].size() - 1);
      if (place == text.npos)
        EXPECT_EQ(stopped[i].ids.size(), 15u);
      else
        EXPECT_EQ(place + 2, text.size());
      if (config.num_beams == 1) {  // except for the stop, the text is the same
        EXPECT_TRUE(std::ranges::equal(stopped[i].ids, std::span(whole[i].ids).first(stopped[i].ids.size())));
      }
    }
  }
}

TEST(MaxTime, EveryTextStillHasAToken) {
  for (const std::int64_t beams : {1, 3}) {
    const PretrainedModel model = load_model("marian-generation");
    GenerationConfig config = generation_config_of(model);
    config.num_beams = beams;
    config.max_new_tokens = 12;
    config.max_time = 1e-9;
    for (const auto& text : generate(model, make_prompts(4), config)) EXPECT_EQ(text.ids.size(), 1u);
    config.max_time = 0;
    EXPECT_TRUE(contains(error_of([&] { generate(model, make_prompts(1), config); }), "max_time"));
  }
}

}  // namespace
}  // namespace attend
