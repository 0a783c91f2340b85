// Prompts that are read in pieces give the same results as prompts that are read whole, and other requests do
// not wait for them.
#include "expect_error.h"
#include "generation/asked.h"
#include "temporary_directory.h"

namespace attend {
namespace {

struct PieceCase {
  const char* model;
  CacheFormat cache;
};

// The small model of that name, with positions for long texts and new random weights.
PretrainedModel long_model(const std::string& name, CacheFormat cache = CacheFormat::float32) {
  const TemporaryDirectory directory;
  const std::filesystem::path source = model_path(name) / "config.json";
  Json config = read_json(source);
  config["initializer_range"] = 0.4;
  for (const char* positions : {"n_positions", "max_position_embeddings"})
    if (config.contains(positions)) config[positions] = 480;
  PretrainedModel::fresh(Fields(config, source.string()), 3).save(directory.path());
  ModelPath path = directory.path();
  path.cache = cache;
  return PretrainedModel::load(ModelDirectory(path), Purpose::inference);
}

Ids prompt_of(std::int64_t length, std::int64_t seed) {
  Ids prompt;
  for (std::int64_t i = 0; i < length; ++i) prompt.push_back(2 + (seed * 7 + i * i * 3 + i / 5) % 37);
  return prompt;
}

Asked asked_for(std::int64_t prompt, std::int64_t new_tokens, std::int64_t seed = 1) {
  Asked asked;
  asked.prompt = prompt_of(prompt, seed);
  asked.settings = {{"max_new_tokens", new_tokens}, {"eos_token_id", nullptr}};
  return asked;
}

// Also their scores.
void expect_same_numbers(const PretrainedModel& model, const Asked& asked) {
  expect_same_as_alone(model, asked);
  const auto alone =
      generate(model, std::vector<Ids>{asked.prompt}, config_of(model, asked.settings), {.seed = asked.seed});
  for (std::size_t i = 0; i < alone.size(); ++i)
    EXPECT_EQ(asked.result.texts[i].log_probabilities, alone[i].log_probabilities);
}

class PromptPieces : public testing::TestWithParam<PieceCase> {};

TEST_P(PromptPieces, AsReadWhole) {
  const PretrainedModel model = long_model(GetParam().model, GetParam().cache);
  std::vector<Asked> all = make_requests(60, 5, 150);
  const Ids common = prompt_of(75, 9);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Asked& asked = all[i];
    if (i % 3 == 0) asked.prompt.insert(asked.prompt.begin(), common.begin(), common.end());
    if (i % 11 == 0) asked.prompt.resize(65);  // two pieces, and a single token that is not a piece
    asked.settings["output_scores"] = true;
    const bool one_text =
        !asked.settings.contains("num_beams") && !asked.settings.contains("num_return_sequences");
    if (one_text && i % 7 == 0) asked.settings["guidance_scale"] = 1.8;
    if (one_text && i % 7 == 1) asked.settings["prompt_lookup_num_tokens"] = 3;
  }
  for (const std::int64_t piece : {32, 100}) {
    ContinuousBatch batch(model, {.cache = {.tokens = 700}, .prompt_step_tokens = piece});
    std::size_t submitted = 0;
    std::int64_t step = 0;
    for (bool busy = true; busy || submitted < all.size(); ++step) {
      for (; submitted < all.size() && all[submitted].arrival <= step; ++submitted) {
        Asked& asked = all[submitted];
        asked.streamed = std::vector<Ids>(3);
        asked.ends = 0;
        submit(batch, model, asked, step);
      }
      busy = batch.step();
      ASSERT_LT(step, 100000);
    }
    EXPECT_EQ(batch.status().pages_in_use, 0);
    for (const Asked& asked : all) expect_same_numbers(model, asked);
  }
}

std::vector<PieceCase> piece_cases() {
  std::vector<PieceCase> all;
  for (const char* model :
       {"gpt2-generation", "llama", "qwen2-windows", "gemma2", "olmo3", "mistral", "bloom"})
    for (const CacheFormat cache : {CacheFormat::float32, CacheFormat::bfloat16, CacheFormat::int8})
      all.push_back({model, cache});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Models, PromptPieces, testing::ValuesIn(piece_cases()));

TEST(PromptPieces, OthersGetATokenInEachStep) {
  const PretrainedModel model = long_model("llama");
  ContinuousBatch batch(model, {.prompt_step_tokens = 32});
  Asked running = asked_for(5, 60), prompt = asked_for(320, 4, 2);
  std::int64_t step = 0;
  submit(batch, model, running, step);
  for (; step < 3; ++step) batch.step();
  submit(batch, model, prompt, step);
  for (; prompt.streamed[0].empty(); ++step) {
    const std::size_t before = running.streamed[0].size();
    batch.step();
    EXPECT_EQ(running.streamed[0].size(), before + 1);
    ASSERT_LT(step, 30);
  }
  EXPECT_EQ(step, 3 + 10);
  while (batch.step()) {
  }
  expect_same_numbers(model, running);
  expect_same_numbers(model, prompt);
}

// The second request begins after the first prompt has been read, and shares all of it except its end.
TEST(PromptPieces, AreSharedByPromptsOfTheSameTime) {
  const PretrainedModel model = long_model("gpt2-generation");
  ContinuousBatch batch(model, {.prompt_step_tokens = 64});
  Asked first = asked_for(320, 20), second = asked_for(320, 20);
  second.prompt.back() = 2;
  std::int64_t step = 0;
  submit(batch, model, first, step);
  submit(batch, model, second, step);
  for (; second.streamed[0].empty(); ++step) batch.step();
  EXPECT_EQ(step, 6);
  EXPECT_EQ(batch.status().pages_in_use, 19 + 2 + 1);  // the first one has already read a token of its own
  while (batch.step()) {
  }
  expect_same_numbers(model, first);
  expect_same_numbers(model, second);
}

TEST(PromptPieces, KeepRoomForTheirRest) {
  const PretrainedModel model = long_model("llama");
  ContinuousBatch batch(model, {.cache = {.tokens = 400}, .prompt_step_tokens = 32});
  Asked first = asked_for(320, 10), second = asked_for(100, 10, 2);
  std::int64_t step = 0;
  submit(batch, model, first, step);
  batch.step();
  submit(batch, model, second, step);
  batch.step();
  EXPECT_EQ(batch.status().waiting, 1);
  while (batch.step()) {
  }
  EXPECT_EQ(batch.status().preemptions, 0);
  expect_same_numbers(model, first);
  expect_same_numbers(model, second);
}

TEST(PromptPieces, OfACancelledRequestAreGivenBack) {
  const PretrainedModel model = long_model("olmo3");
  ContinuousBatch batch(model, {.prompt_step_tokens = 32});
  Asked asked = asked_for(320, 4);
  std::int64_t step = 0;
  submit(batch, model, asked, step);
  batch.step();
  batch.step();
  EXPECT_GT(batch.status().pages_in_use, 0);
  batch.cancel(asked.ticket);
  EXPECT_FALSE(batch.step());
  EXPECT_EQ(asked.result.end, BatchResult::End::cancelled);
  EXPECT_EQ(batch.status().pages_in_use, 0);
}

TEST(PromptPieces, HaveALeastSize) {
  const PretrainedModel model = load_model("gpt2-generation");
  EXPECT_ERROR("prompt tokens per step: expected at least 32, found 5",
               ContinuousBatch(model, {.prompt_step_tokens = 5}));
}

}  // namespace
}  // namespace attend
