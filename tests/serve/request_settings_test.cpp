// The settings in a request's fields.
#include "serve/models/request_settings.h"

#include "temporary_directory.h"

namespace attend::serve {
namespace {

RequestSettings requested(const Json& body, const OwnSettings& own = {}) {
  return read_request_settings(Fields(body, "the request"), own);
}

// The settings of a model that defines the length of its texts.
Json settings(const Json& body, OwnSettings own = {}) {
  own.limits_length = true;
  return requested(body, own).settings;
}

std::string error(const Json& body) {
  return error_of([&] { requested(body); });
}

TEST(RequestSettings, TranslateTheFieldsOfOpenAI) {
  const RequestSettings all = requested({{"model", "m"},
                                         {"prompt", "p"},
                                         {"max_tokens", 7},
                                         {"n", 2},
                                         {"stop", "end"},
                                         {"temperature", 0.5},
                                         {"seed", -3},
                                         {"logit_bias", {{"12", -100}}},
                                         {"repetition_penalty", 1.5},
                                         {"user", "user-7"},
                                         {"presence_penalty", 0.5},
                                         {"top_k", nullptr}});
  const Json expected = {{"max_new_tokens", 7},
                         {"num_return_sequences", 2},
                         {"stop_strings", {"end"}},
                         {"temperature", 0.5},
                         {"sequence_bias", Json::array({Json::array({Json::array({12}), -100.0})})},
                         {"repetition_penalty", 1.5},
                         {"presence_penalty", 0.5},
                         {"do_sample", true}};
  EXPECT_EQ(nlohmann::json(all.settings), nlohmann::json(expected));  // in any order
  EXPECT_EQ(all.seed, static_cast<std::uint64_t>(-3));
  EXPECT_FALSE(all.stream);
}

TEST(RequestSettings, TemperatureZeroIsGreedy) {
  EXPECT_EQ(settings({{"temperature", 0}, {"top_p", 0.3}}),
            Json({{"do_sample", false}, {"num_return_sequences", 1}}));
  EXPECT_EQ(settings({{"top_p", 0.5}}),
            Json({{"top_p", 0.5}, {"do_sample", true}, {"num_return_sequences", 1}}));
  EXPECT_EQ(settings({{"top_p", 0.5}, {"do_sample", false}})["do_sample"], false);
}

TEST(RequestSettings, LengthsHaveDefaults) {
  EXPECT_EQ(requested(Json::object()).settings["max_new_tokens"], 256);
  EXPECT_FALSE(settings(Json::object()).contains("max_new_tokens"));
  EXPECT_TRUE(requested({{"max_tokens", 0}}).no_new_tokens);
}

TEST(RequestSettings, LikeliestTextsAreMadeOnce) {
  EXPECT_EQ(settings({{"n", 3}})["num_return_sequences"], 1);
  EXPECT_EQ(settings({{"n", 3}, {"temperature", 1}})["num_return_sequences"], 3);
  EXPECT_EQ(settings({{"n", 3}}, {.samples = true})["num_return_sequences"], 3);
  EXPECT_EQ(settings({{"n", 3}, {"num_beams", 4}})["num_return_sequences"], 3);
  EXPECT_EQ(settings({{"n", 2}, {"best_of", 5}, {"temperature", 1}})["num_return_sequences"], 5);
  EXPECT_EQ(settings({{"n", 2}, {"best_of", 5}, {"use_beam_search", true}}),
            Json({{"num_beams", 5}, {"do_sample", false}, {"num_return_sequences", 2}}));
}

TEST(RequestSettings, LogProbabilitiesOfCompletionsAndChats) {
  EXPECT_EQ(requested({{"logprobs", 3}}).log_probabilities, std::optional<std::size_t>(3));
  EXPECT_EQ(requested({{"logprobs", true}, {"top_logprobs", 2}}).log_probabilities,
            std::optional<std::size_t>(2));
  EXPECT_EQ(requested({{"logprobs", false}}).log_probabilities, std::nullopt);
  EXPECT_TRUE(contains(error({{"top_logprobs", 2}}), "expected logprobs: true"));
}

TEST(RequestSettings, FormsOfTexts) {
  EXPECT_FALSE(settings({{"response_format", {{"type", "text"}}}}).contains("json_schema"));
  EXPECT_EQ(settings({{"response_format", {{"type", "json_object"}}}})["json_schema"],
            Json({{"type", "object"}}));
}

TEST(RequestSettings, RefuseInvalidFields) {
  EXPECT_TRUE(contains(error({{"n", 3}, {"best_of", 2}}), "expected at least n (3)"));
  EXPECT_TRUE(
      contains(error({{"best_of", 2}, {"stream", true}, {"temperature", 1}}), "expected stream false"));
  EXPECT_TRUE(contains(error({{"best_of", 2}, {"num_beams", 4}}), "expected num_beams 1"));
  EXPECT_TRUE(contains(error({{"logit_bias", {{"x", 1}}}}), "by the ids of tokens"));
}

}  // namespace
}  // namespace attend::serve
