// Whoever takes part in a batch, and whatever happens there, gets what it would have got alone.
#include "generation/continuous_batch.h"

#include "generation/generate.h"
#include "generation/models.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;

// What one request asks for, and what became of it.
struct Asked {
  Ids prompt;
  Json settings;
  std::uint64_t seed = 0;
  std::int64_t arrival = 0;  // before this step
  ContinuousBatch::Ticket ticket = 0;
  std::vector<Ids> streamed = std::vector<Ids>(3);
  BatchResult result = {};
  std::int64_t ends = 0, end_step = 0;
};

Json settings_of(std::mt19937& random) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  Json settings = {{"max_new_tokens", pick(1, 18)}};
  if (pick(0, 2) == 0) settings["eos_token_id"] = Json::array({1, pick(2, 40), pick(2, 40)});
  switch (pick(0, 6)) {
    case 0:
      settings["repetition_penalty"] = 1.3;
      break;
    case 1:
      settings["no_repeat_ngram_size"] = 2;
      break;
    case 2:
      settings.update(
          {{"do_sample", true}, {"temperature", 1.7}, {"top_k", 9}, {"num_return_sequences", pick(1, 3)}});
      break;
    case 3:
      settings.update({{"do_sample", true}, {"top_p", 0.8}, {"top_k", 0}, {"min_p", 0.01}});
      break;
    case 4:
      settings.update({{"num_beams", 3}, {"length_penalty", 0.5}});
      break;
    case 5:
      settings.update({{"return_alternatives", true}, {"num_return_sequences", 3}});
      break;
    default:
      break;
  }
  return settings;
}

std::vector<Asked> make_requests(std::size_t count, std::uint32_t seed, std::int64_t longest) {
  std::mt19937 random(seed);
  std::vector<Asked> all(count);
  const Ids common = {7, 3, 9, 4, 4, 8, 2, 5, 6, 3, 30, 31, 12, 13, 14, 2, 18};  // a page and a token
  std::int64_t arrival = 0;
  for (Asked& asked : all) {
    const auto length = std::uniform_int_distribution<std::int64_t>(1, longest)(random);
    if (random() % 2 == 0 && length > 2) asked.prompt = common;
    while (static_cast<std::int64_t>(asked.prompt.size()) < length)
      asked.prompt.push_back(static_cast<std::int64_t>(2 + random() % 37));
    asked.prompt.resize(static_cast<std::size_t>(length));
    asked.settings = settings_of(random);
    asked.seed = random();
    arrival += random() % 8 == 0 ? static_cast<std::int64_t>(random() % 12) : 0;  // several at a time
    asked.arrival = arrival;
  }
  return all;
}

void submit(ContinuousBatch& batch, const PretrainedModel& model, Asked& asked, std::int64_t& step) {
  BatchRequest request{{asked.prompt, {}, {}}, batch.prepare(config_of(model, asked.settings), asked.seed)};
  request.on_token = [&](std::size_t text, const ChosenToken& token) {
    asked.streamed[text].push_back(token.id);
  };
  request.on_end = [&](BatchResult result) {
    asked.result = std::move(result);
    ++asked.ends;
    asked.end_step = step;
  };
  asked.ticket = batch.submit(std::move(request));
}

void expect_same_as_alone(const PretrainedModel& model, const Asked& asked) {
  const GenerationConfig config = config_of(model, asked.settings);
  const auto alone = generate(model, std::vector<Ids>{asked.prompt}, config, {.seed = asked.seed});
  ASSERT_EQ(asked.ends, 1);
  ASSERT_EQ(asked.result.end, BatchResult::End::finished);
  ASSERT_EQ(asked.result.texts.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(asked.result.texts[i].ids, alone[i].ids) << asked.settings;
    EXPECT_EQ(asked.result.texts[i].score, alone[i].score);
    if (config.num_beams == 1) {
      EXPECT_EQ(asked.streamed[i], alone[i].ids);
    }
  }
}

std::int64_t most_steps(const Asked& asked) {
  return asked.settings["max_new_tokens"].get<std::int64_t>();
}

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
    asked.settings["max_new_tokens"] = std::min(most_steps(asked), room);
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
    EXPECT_LE(status.most_pages * PagedCache::kPageRows, kTokens);
    waited += static_cast<std::int64_t>(status.waiting);
    ASSERT_LT(step, 100000);
  }
  EXPECT_GT(waited, 100);
  EXPECT_GT(batch.status().preemptions, 4);
  EXPECT_EQ(batch.status().pages_in_use, 0);
  std::int64_t bound = 0;  // of the steps that a request and those before it may take
  for (const Asked& asked : all) {
    expect_same_as_alone(model, asked);
    bound = std::max(bound, asked.arrival) + most_steps(asked);
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

TEST(ContinuousBatch, PromptsThatBeginAlikeSharePages) {
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
  EXPECT_EQ(batch.status().pages_in_use, 2 + 8);  // two whole pages together, the third each
  while (batch.step()) {
  }
  for (const Asked& asked : all) expect_same_as_alone(model, asked);
  // Nobody uses them any more, but they are known still: only the rest is read.
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
    batch.cancel(12345);  // nobody
    while (batch.step()) {
    }
    batch.cancel(all[1].ticket);  // over
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

TEST(ContinuousBatch, EndsWithItsRequests) {
  const PretrainedModel model = load_model("gpt2-generation");
  std::vector<Asked> all = make_requests(3, 5, 9);
  std::int64_t step = 0;
  {
    ContinuousBatch batch(model);
    for (Asked& asked : all) submit(batch, model, asked, step);
  }
  for (const Asked& asked : all) EXPECT_EQ(asked.result.end, BatchResult::End::cancelled);
}

std::string message_of(const BatchResult& result) {
  return error_of([&] { std::rethrow_exception(result.error); });
}

// One text meets numbers that are none, one client is gone: the others go on.
TEST(ContinuousBatch, WhatFailsFailsAlone) {
  const PretrainedModel model = load_model("gpt2-generation");
  const NoGradGuard no_grad;
  Tensor& positions = model.network()->decoder->embeddings->positions;
  const Tensor damaged = positions.clone();
  damaged[30].fill_(NAN);  // which only a long text meets
  positions.set_data(damaged);
  std::vector<Asked> all = make_requests(9, 3, 9);
  std::int64_t step = 0;
  ContinuousBatch batch(model, {.cache = {.tokens = 320}});
  for (Asked& asked : all) asked.settings = {{"max_new_tokens", 9}, {"eos_token_id", nullptr}};
  all[2].settings["suppress_tokens"] = Json::array();
  for (std::int64_t token = 0; token < 41; ++token) all[2].settings["suppress_tokens"].push_back(token);
  all[2].settings["do_sample"] = true;  // and nothing is left to be drawn
  all[6].prompt = Ids(29, 5);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != 4) {
      submit(batch, model, all[i], step);
      continue;
    }
    BatchRequest request{{all[4].prompt, {}, {}}, batch.prepare(config_of(model, all[4].settings))};
    request.on_token = [](std::size_t, const ChosenToken&) { fail("the client is gone"); };
    request.on_end = [&](BatchResult result) { all[4].result = std::move(result); };
    batch.submit(std::move(request));
  }
  while (batch.step()) {
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i != 2 && i != 4 && i != 6) expect_same_as_alone(model, all[i]);
  EXPECT_TRUE(contains(message_of(all[2].result), "no token is possible"));
  EXPECT_TRUE(contains(message_of(all[4].result), "client is gone"));
  EXPECT_TRUE(contains(message_of(all[6].result), "NaN"));
  EXPECT_EQ(all[6].streamed[0].size(), 2u);  // it was well so far
  EXPECT_EQ(batch.status().pages_in_use, 0);
}

TEST(ContinuousBatch, ACancelledRequestEndsEvenIfNoStepFollows) {
  const PretrainedModel model = load_model("gpt2-generation");
  std::vector<Asked> all = make_requests(4, 5, 9);
  std::int64_t step = 0;
  {
    ContinuousBatch batch(model);
    for (Asked& asked : all) {
      asked.settings = {{"max_new_tokens", 12}, {"eos_token_id", nullptr}};
      if (&asked == &all[2]) batch.step();  // the first two run by then
      submit(batch, model, asked, step);
    }
    batch.cancel(all[0].ticket);
    batch.cancel(all[3].ticket);
  }
  for (const Asked& asked : all) {
    EXPECT_EQ(asked.ends, 1);
    EXPECT_EQ(asked.result.end, BatchResult::End::cancelled);
  }
}

// Whatever is thrown, and wherever: it ends the request that it concerns, and nobody else.
TEST(ContinuousBatch, ExceptionsStayInTheirRequests) {
  const PretrainedModel model = load_model("gpt2-generation");
  for (const char* place : {"rule", "on_token", "on_end"}) {
    std::vector<Asked> all = make_requests(3, 3, 9);
    std::int64_t step = 0, calls = 0;
    ContinuousBatch batch(model);
    const auto thrower = [&](const char* where) {
      if (std::string_view(where) == place && ++calls == 2) throw std::bad_alloc();
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
      Asked& asked = all[i];
      asked.settings = {{"max_new_tokens", 5}, {"eos_token_id", nullptr}};
      if (i != 1) {
        submit(batch, model, asked, step);
        continue;
      }
      const auto rule = [&](std::size_t, std::span<const std::int64_t>, std::span<float>) {
        thrower("rule");
      };
      BatchRequest request{{asked.prompt, {}, {}},
                           batch.prepare(config_of(model, asked.settings), 0, nullptr, rule)};
      request.on_token = [&](std::size_t, const ChosenToken&) { thrower("on_token"); };
      request.on_end = [&](BatchResult result) {
        asked.result = std::move(result);
        ++asked.ends;
        if (std::string_view(place) == "on_end") throw 7;
      };
      batch.submit(std::move(request));
    }
    while (batch.step()) {
    }
    expect_same_as_alone(model, all[0]);
    expect_same_as_alone(model, all[2]);
    EXPECT_EQ(all[1].ends, 1) << place;
    if (std::string_view(place) == "on_end") {
      EXPECT_EQ(all[1].result.end, BatchResult::End::finished);
    } else {
      ASSERT_EQ(all[1].result.end, BatchResult::End::failed) << place;
      EXPECT_THROW(std::rethrow_exception(all[1].result.error), std::bad_alloc);
    }
    EXPECT_EQ(batch.status().pages_in_use, 0);
  }
}

// A step that fails is that of all who run; the batch goes on with the next ones.
TEST(ContinuousBatch, AStepThatFailsEndsThoseWhoRun) {
  const PretrainedModel model = load_model("gpt2-generation");
  std::vector<Asked> all = make_requests(3, 3, 9);
  std::int64_t step = 0;
  ContinuousBatch batch(model);
  for (std::size_t i = 0; i < 2; ++i) {
    all[i].settings = {{"max_new_tokens", 5}, {"eos_token_id", nullptr}};
    submit(batch, model, all[i], step);
  }
  batch.step();
  const NoGradGuard no_grad;
  Tensor& positions = model.network()->decoder->embeddings->positions;
  const Tensor whole = positions.clone();
  positions.set_data(positions.narrow(0, 0, 1).clone());  // there is no place for what comes next
  while (batch.step()) {
  }
  positions.set_data(whole);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(all[i].ends, 1);
    EXPECT_EQ(all[i].result.end, BatchResult::End::failed);
  }
  all[2].settings = all[0].settings;
  submit(batch, model, all[2], step);
  while (batch.step()) {
  }
  expect_same_as_alone(model, all[2]);
}

TEST(ContinuousBatch, TakesNothingWhileItEnds) {
  const PretrainedModel model = load_model("gpt2-generation");
  std::string refused;
  int ends = 0;
  {
    ContinuousBatch batch(model);
    const auto settings = batch.prepare(config_of(model, {{"max_new_tokens", 5}}));
    BatchRequest request{{{5, 3}, {}, {}}, settings};
    request.on_end = [&](const BatchResult&) {
      ++ends;
      refused = error_of([&] { batch.submit({{{5, 3}, {}, {}}, settings}); });
    };
    batch.submit(std::move(request));
  }
  EXPECT_EQ(ends, 1);
  EXPECT_TRUE(contains(refused, "takes no more"));
}

TEST(ContinuousBatch, RefusesWhatCanNeverBe) {
  const PretrainedModel model = load_model("gpt2-generation");
  ContinuousBatch batch(model, {.cache = {.tokens = 32}});
  const auto error = [&](const Ids& prompt, const Json& settings) {
    return error_of([&] {
      const auto prepared = batch.prepare(config_of(model, settings));
      batch.submit({{prompt, {}, {}}, prepared});
    });
  };
  EXPECT_TRUE(contains(error(Ids(30, 5), {{"max_new_tokens", 9}}), "may need keys and values of 48 tokens"));
  EXPECT_TRUE(
      contains(error(Ids(3, 5), {{"max_new_tokens", 20}, {"num_beams", 2}}), "there is memory for 32"));
  batch.submit({{Ids(24, 5), {}, {}}, batch.prepare(config_of(model, {{"max_new_tokens", 9}}))});
  EXPECT_TRUE(contains(error({}, Json::object()), "no tokens"));
  EXPECT_TRUE(contains(error({3, 41}, Json::object()), "token id 41"));
  EXPECT_TRUE(contains(error({3}, {{"temperature", -1.0}, {"do_sample", true}}), "temperature"));
  EXPECT_TRUE(contains(error_of([&] { ContinuousBatch(model, {.cache = {.bytes = 100}}); }), "too small"));
}

// One thread steps, others ask, cancel and read.
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
          asked.settings["max_new_tokens"] = std::min<std::int64_t>(most_steps(asked), 10);
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
