// Random requests to a continuous batch, and the result of each alone.
#pragma once

#include "generation/continuous_batch.h"
#include "generation/generate.h"
#include "generation/models.h"

#include <random>

#include <gtest/gtest.h>

namespace attend {

using Ids = std::vector<std::int64_t>;

// A request and its results.
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

inline Json settings_of(std::mt19937& random) {
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

inline std::vector<Asked> make_requests(std::size_t count, std::uint32_t seed, std::int64_t longest) {
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

inline void submit(ContinuousBatch& batch, const PretrainedModel& model, Asked& asked, std::int64_t& step) {
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

inline void expect_same_as_alone(const PretrainedModel& model, const Asked& asked) {
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

inline std::int64_t max_steps(const Asked& asked) {
  return asked.settings["max_new_tokens"].get<std::int64_t>();
}

}  // namespace attend
