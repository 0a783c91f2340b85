// What a request's fields ask for.
#include "serve/wishes.h"

#include "temporary_directory.h"

namespace attend::serve {
namespace {

Wishes wishes(const Json& body) {
  return read_wishes(Fields(body, "the request"), {"model", "prompt"});
}

std::string error(const Json& body) {
  return error_of([&] { wishes(body); });
}

TEST(Wishes, TranslateTheFieldsOfOpenAI) {
  const Wishes all = wishes({{"model", "m"},
                             {"prompt", "p"},
                             {"max_tokens", 7},
                             {"n", 2},
                             {"stop", "end"},
                             {"temperature", 0.5},
                             {"seed", -3},
                             {"logit_bias", {{"12", -100}}},
                             {"repetition_penalty", 1.5},
                             {"user", "somebody"},
                             {"presence_penalty", 0},
                             {"top_k", nullptr}});
  const Json expected = {{"max_new_tokens", 7},
                         {"num_return_sequences", 2},
                         {"stop_strings", {"end"}},
                         {"temperature", 0.5},
                         {"sequence_bias", Json::array({Json::array({Json::array({12}), -100.0})})},
                         {"repetition_penalty", 1.5},
                         {"do_sample", true}};
  EXPECT_EQ(all.settings, expected);
  EXPECT_EQ(all.seed, static_cast<std::uint64_t>(-3));
  EXPECT_FALSE(all.stream);
}

TEST(Wishes, ATemperatureOfZeroChoosesTheLikeliest) {
  EXPECT_EQ(wishes({{"temperature", 0}, {"top_p", 0.3}}).settings, Json({{"do_sample", false}}));
  EXPECT_EQ(wishes({{"top_p", 0.5}}).settings, Json({{"top_p", 0.5}, {"do_sample", true}}));
  EXPECT_EQ(wishes({{"top_p", 0.5}, {"do_sample", false}}).settings,
            Json({{"top_p", 0.5}, {"do_sample", false}}));
}

TEST(Wishes, FormsOfTexts) {
  EXPECT_EQ(wishes({{"response_format", {{"type", "text"}}}}).settings, Json::object());
  EXPECT_EQ(wishes({{"response_format", {{"type", "json_object"}}}}).settings,
            Json({{"json_schema", {{"type", "object"}}}}));
  EXPECT_TRUE(
      contains(error({{"response_format", {{"type", "json_schema"}, {"json_schema", Json::object()}}}}),
               "expected the field schema"));
}

TEST(Wishes, RefuseWhatCannotBeDone) {
  EXPECT_TRUE(contains(error({{"presence_penalty", 1}}), "see repetition_penalty"));
  EXPECT_TRUE(contains(error({{"n", 0}}), "from 1 to 128"));
  EXPECT_TRUE(contains(error({{"logprobs", 5}}), "expected 0 or 1"));
  EXPECT_TRUE(contains(error({{"logprobs", 1}, {"stream", true}}), "expected stream false"));
  EXPECT_TRUE(contains(error({{"logit_bias", {{"x", 1}}}}), "by the ids of tokens"));
  EXPECT_TRUE(contains(error({{"logit_bias", {{"5", 1e39}}}}), "logit_bias: expected a number from"));
}

}  // namespace
}  // namespace attend::serve
