// Scores of given texts, in windows. tests/oracle/check_scoring.py compares the numbers with transformers.
#include <attend/tasks.h>

#include "expect_error.h"
#include "formats/json/json.h"
#include "generation/models.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// A small random model with a tokenizer whose tokens are the letters.
class ScoreTexts : public testing::Test {
 protected:
  ScoreTexts() : scorer_(directory()) {}

  std::filesystem::path directory() {
    std::filesystem::copy(model_path("gpt2"), directory_.path() / "model");
    Json letters = Json::object();
    for (char c = 'a'; c <= 'z'; ++c) letters[std::string(1, c)] = c - 'a';
    const Json tokenizer = {{"version", "1.0"},
                            {"added_tokens", Json::array()},
                            {"model", {{"type", "BPE"}, {"vocab", letters}, {"merges", Json::array()}}}};
    directory_.file("model/tokenizer.json", tokenizer.dump());
    return directory_.path() / "model";
  }

  std::vector<TokenProbability> score(const std::string& text, std::int64_t length, std::int64_t stride) {
    ScoreTextOptions options;
    options.length = length;
    options.stride = stride;
    return scorer_.score({text}, options).front();
  }

  TemporaryDirectory directory_;
  TextScorer scorer_;
};

std::string letters_of(const std::vector<TokenProbability>& tokens) {
  std::string text;
  for (const TokenProbability& token : tokens) text += token.token_text;
  return text;
}

TEST_F(ScoreTexts, PredictsEveryTokenButTheFirst) {
  EXPECT_EQ(scorer_.method(), ScoringMethod::left_to_right);
  EXPECT_EQ(letters_of(score("thequickfox", 20, 10)), "hequickfox");
  EXPECT_TRUE(score("t", 20, 10).empty());
  EXPECT_TRUE(score("", 20, 10).empty());
}

TEST_F(ScoreTexts, ReadsLongTextsInWindows) {
  const auto whole = score("thequickfox", 20, 10), windows = score("thequickfox", 4, 2);
  EXPECT_EQ(letters_of(windows), "hequickfox");
  // The first window sees the same as the whole text, the next ones less.
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(windows[i].log_probability, whole[i].log_probability);
  EXPECT_NE(windows[3].log_probability, whole[3].log_probability);
  // "uick" is a window: its last two are predicted only from it.
  const auto alone = score("quic", 20, 10);
  EXPECT_EQ(score("thequic", 4, 3).back().log_probability, alone.back().log_probability);
  // Each window without overlap has its own first token.
  EXPECT_EQ(letters_of(score("thequickfox", 4, 4)), "heqickox");
}

TEST_F(ScoreTexts, GivesATextTheSameNumbersInEveryBatch) {
  const std::vector<std::string> texts = {"thequickfox", "ab", "", "overthelazydog", "z"};
  ScoreTextOptions alone, together;
  alone.batch_tokens = 1;
  const auto a = scorer_.score(texts, alone), b = scorer_.score(texts, together);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    for (std::size_t j = 0; j < a[i].size(); ++j) EXPECT_EQ(a[i][j].log_probability, b[i][j].log_probability);
  }
}

TEST_F(ScoreTexts, RefusesWindowsThatLeaveTokensOut) {
  EXPECT_ERROR("stride: expected 1 to the 4 tokens of a window, found 5", score("thequickfox", 4, 5));
  EXPECT_ERROR("stride: expected 1 to the 4 tokens of a window, found 0", score("thequickfox", 4, 0));
  EXPECT_ERROR("tokens that the model reads, found 1", score("thequickfox", 1, 1));
  EXPECT_ERROR("tokens that the model reads, found 1000", score("thequickfox", 1000, 1));
  EXPECT_ERROR("has no encoder for a source",
               scorer_.score(std::vector<std::string>{"a"}, std::vector<std::string>{"b"}));
}

}  // namespace
}  // namespace attend
