// Every request in a batch gets the same result as alone, independent of the batch.
#include "generation/asked.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

namespace attend {
namespace {

struct Kept {
  const char* model;
  CacheFormat cache;
};

class Together : public testing::TestWithParam<Kept> {};

TEST_P(Together, AsAloneInLittleMemory) {
  ModelPath path = model_path(GetParam().model);
  path.cache = GetParam().cache;
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(path), Purpose::inference);
  constexpr std::int64_t kTokens = 160;
  const char* more = std::getenv("ATTEND_TEST_REQUESTS");
  std::vector<Asked> all = make_requests(more ? std::stoul(more) : 150, 11, 21);
  for (Asked& asked : all) {  // within the positions of the smallest models
    const std::int64_t room =
        model.network()->is_encoder_decoder() ? 18 : 24 - static_cast<std::int64_t>(asked.prompt.size());
    asked.settings["max_new_tokens"] = std::min(max_steps(asked), room);
    const bool one_text =
        !asked.settings.contains("num_beams") && !asked.settings.contains("num_return_sequences");
    if (!model.network()->is_encoder_decoder() && one_text && asked.seed % 3 == 0)
      asked.settings["guidance_scale"] = 1.8;
  }
  ContinuousBatch batch(model, {.cache = {.tokens = kTokens}});
  std::int64_t step = 0, waited = 0;
  std::size_t submitted = 0;
  for (bool busy = true; busy || submitted < all.size(); ++step) {
    while (submitted < all.size() && all[submitted].arrival <= step)
      submit(batch, model, all[submitted++], step);
    busy = batch.step();
    const QueueStatus status = batch.status();
    EXPECT_LE(status.peak_pages * PagedCache::kPageRows, kTokens);
    waited += static_cast<std::int64_t>(status.waiting);
    ASSERT_LT(step, 100000);
  }
  EXPECT_GT(waited, 100);
  EXPECT_GT(batch.status().preemptions, 4);
  EXPECT_EQ(batch.status().pages_in_use, 0);
  std::int64_t bound = 0;  // bound of the steps that a request and those before it may take
  for (const Asked& asked : all) {
    expect_same_as_alone(model, asked);
    bound = std::max(bound, asked.arrival) + max_steps(asked);
    EXPECT_LE(asked.end_step, bound);
  }
}

std::vector<Kept> kept_as(CacheFormat cache) {
  std::vector<Kept> all;
  for (const char* model : {"gpt2-generation", "gptj", "gpt-neo", "ctrl", "openai-gpt", "marian-generation",
                            "t5", "bart", "m2m-100", "llama", "qwen2-windows", "gemma2", "olmo3", "gpt-neox"})
    all.push_back({model, cache});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Batch, Together, testing::ValuesIn(kept_as(CacheFormat::float32)));
INSTANTIATE_TEST_SUITE_P(Int8, Together, testing::ValuesIn(kept_as(CacheFormat::int8)));

TEST(ContinuousBatch, PromptsWithACommonPrefixSharePages) {
  const PretrainedModel model = load_model("gpt2-generation");
  ContinuousBatch batch(model);
  std::vector<Asked> all(8);
  std::int64_t step = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].prompt = Ids(34, 5);
    all[i].prompt.back() = static_cast<std::int64_t>(2 + i);
    all[i].settings = {{"max_new_tokens", 4}, {"eos_token_id", nullptr}};
    submit(batch, model, all[i], step);
  }
  batch.step();
  EXPECT_EQ(batch.status().pages_in_use, 2 + 8);  // two whole pages together, and a third one each
  while (batch.step()) {
  }
  for (const Asked& asked : all) expect_same_as_alone(model, asked);
  // They are unused, but still known: only the rest is read.
  Asked late = all[0];
  late.ends = 0;
  late.streamed = std::vector<Ids>(3);
  submit(batch, model, late, step);
  while (batch.step()) {
  }
  expect_same_as_alone(model, late);
}

TEST(ContinuousBatch, CancelledRequestsLeave) {
  for (const char* name : {"gpt2-generation", "marian-generation"}) {
    const PretrainedModel model = load_model(name);
    std::vector<Asked> all = make_requests(12, 5, 9);
    std::int64_t step = 0;
    ContinuousBatch batch(model, {.cache = {.tokens = 160}});
    for (Asked& asked : all) {
      asked.settings = {{"max_new_tokens", 12}, {"eos_token_id", nullptr}, {"forced_eos_token_id", nullptr}};
      submit(batch, model, asked, step);
    }
    batch.step();
    batch.step();
    for (const std::size_t i : {0, 3, 11}) batch.cancel(all[i].ticket);
    batch.cancel(12345);  // no request
    while (batch.step()) {
    }
    batch.cancel(all[1].ticket);  // finished
    EXPECT_FALSE(batch.step());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i == 0 || i == 3 || i == 11) {
        EXPECT_EQ(all[i].ends, 1);
        EXPECT_EQ(all[i].result.end, BatchResult::End::cancelled);
      } else {
        expect_same_as_alone(model, all[i]);
      }
    }
    EXPECT_EQ(batch.status().pages_in_use, 0);
  }
}

TEST(ContinuousBatch, DestructionEndsItsRequests) {
  const PretrainedModel model = load_model("gpt2-generation");
  std::vector<Asked> all = make_requests(3, 5, 9);
  std::int64_t step = 0;
  {
    ContinuousBatch batch(model);
    for (Asked& asked : all) submit(batch, model, asked, step);
  }
  for (const Asked& asked : all) EXPECT_EQ(asked.result.end, BatchResult::End::cancelled);
}

// One thread steps; others submit, cancel and read.
TEST(ContinuousBatch, ServesManyThreads) {
  const PretrainedModel model = load_model("gpt2-generation");
  ContinuousBatch batch(model, {.cache = {.tokens = 160}});
  std::jthread server([&](const std::stop_token& stop) { batch.run(stop); });
  std::vector<std::vector<Asked>> all;
  for (std::uint32_t client = 0; client < 3; ++client) all.push_back(make_requests(20, 100 + client, 12));
  std::atomic<int> ended = 0;
  {
    std::vector<std::jthread> clients;
    for (auto& mine : all)
      clients.emplace_back([&] {
        for (std::size_t i = 0; i < mine.size(); ++i) {
          Asked& asked = mine[i];
          asked.settings["max_new_tokens"] = std::min<std::int64_t>(max_steps(asked), 10);
          BatchRequest request{{asked.prompt, {}, {}},
                               batch.prepare(config_of(model, asked.settings), asked.seed)};
          request.on_token = [&](std::size_t text, const ChosenToken& token) {
            asked.streamed[text].push_back(token.id);
          };
          request.on_end = [&](BatchResult result) {
            asked.result = std::move(result);
            ++asked.ends;
            ++ended;
            ended.notify_all();
          };
          asked.ticket = batch.submit(std::move(request));
          if (i % 7 == 3) batch.cancel(asked.ticket);
          batch.status();
        }
      });
  }
  for (int now = ended; now < 60; now = ended) ended.wait(now);
  server.request_stop();
  server.join();
  for (const auto& mine : all)
    for (std::size_t i = 0; i < mine.size(); ++i)
      if (i % 7 != 3 || mine[i].result.end == BatchResult::End::finished)
        expect_same_as_alone(model, mine[i]);
}

}  // namespace
}  // namespace attend
