// An error in a batch affects only the request that causes it.
#include "expect_error.h"
#include "generation/asked.h"

#include <cstdlib>

namespace attend {
namespace {

std::string message_of(const BatchResult& result) {
  return error_of([&] { std::rethrow_exception(result.error); });
}

// One text meets NaN, one client has disconnected: the others continue.
TEST(ContinuousBatch, AFailedRequestFailsAlone) {
  const PretrainedModel model = load_model("gpt2-generation");
  const Unrecorded no_grad;
  Tensor& positions = model.network()->decoder->embeddings->positions;
  const Tensor damaged = positions.clone();
  damaged[30].fill_(NAN);  // only a long text meets it
  positions.set_data(damaged);
  std::vector<Asked> all = make_requests(9, 3, 9);
  std::int64_t step = 0;
  ContinuousBatch batch(model, {.cache = {.tokens = 320}});
  for (Asked& asked : all) asked.settings = {{"max_new_tokens", 9}, {"eos_token_id", nullptr}};
  all[2].settings["suppress_tokens"] = Json::array();
  for (std::int64_t token = 0; token < 41; ++token) all[2].settings["suppress_tokens"].push_back(token);
  all[2].settings["do_sample"] = true;  // and no token is left to sample
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
  EXPECT_EQ(all[6].streamed[0].size(), 2u);  // it was valid so far
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
      if (&asked == &all[2]) batch.step();  // the first two are running by then
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

// Any exception, anywhere, ends only the request that caused it.
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

// A step that fails ends all running requests; the batch continues with the next ones.
TEST(ContinuousBatch, AFailedStepEndsTheRunningRequests) {
  const PretrainedModel model = load_model("gpt2-generation");
  std::vector<Asked> all = make_requests(3, 3, 9);
  std::int64_t step = 0;
  ContinuousBatch batch(model);
  for (std::size_t i = 0; i < 2; ++i) {
    all[i].settings = {{"max_new_tokens", 5}, {"eos_token_id", nullptr}};
    submit(batch, model, all[i], step);
  }
  batch.step();
  const Unrecorded no_grad;
  Tensor& positions = model.network()->decoder->embeddings->positions;
  const Tensor whole = positions.clone();
  positions.set_data(positions.narrow(0, 0, 1).clone());  // there is no position for the following tokens
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

TEST(ContinuousBatch, TakesNoRequestsDuringDestruction) {
  const PretrainedModel model = load_model("gpt2-generation");
  std::string refused;
  int ends = 0;
  {
    ContinuousBatch batch(model);
    const auto settings = batch.prepare(config_of(model, {{"max_new_tokens", 5}}));
    BatchRequest request{{{5, 3}, {}, {}}, settings};
    request.on_end = [&, settings](const BatchResult&) {
      ++ends;
      refused = error_of([&] { batch.submit({{{5, 3}, {}, {}}, settings}); });
    };
    batch.submit(std::move(request));
  }
  EXPECT_EQ(ends, 1);
  EXPECT_TRUE(contains(refused, "takes no more"));
}

TEST(ContinuousBatch, RefusesImpossibleRequests) {
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

}  // namespace
}  // namespace attend
