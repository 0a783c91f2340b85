// The field table of a path: what it checks, and how it describes itself.
#include "serve/http/endpoint.h"

#include "expect_error.h"
#include "generation/config/config_options.h"
#include "serve/models/generation_fields.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace attend::serve {
namespace {

const Endpoint kPath = {.path = "/v1/things/{name}",
                        .group = "things",
                        .summary = "Things",
                        .fields = {{"name", schema::name(), "its name", true},
                                   {"size", schema::integer(1, 9), "its size"},
                                   {"tools", schema::list(schema::anything(), 0, 0), "there are none"},
                                   {"before", schema::nothing(), "nothing is kept"}}};

void check(const Json& request) {
  check_request(Fields(request, "the request"), kPath);
}

TEST(Endpoint, ChecksRequests) {
  check({{"name", "a"}, {"size", 3}, {"tools", Json::array()}});
  check({{"name", "a"}, {"size", nullptr}});
  EXPECT_ERROR("name: expected a text that is not empty, found none", check({{"size", 3}}));
  EXPECT_ERROR("size: expected an integer from 1 to 9, found 0", check({{"name", "a"}, {"size", 0}}));
  EXPECT_ERROR("there is no field \"sise\": expected name, size, tools, before",
               check({{"name", "a"}, {"sise", 1}}));
  EXPECT_ERROR("tools: expected an empty list, found [1]: there are none",
               check({{"name", "a"}, {"tools", {1}}}));
  check({{"name", "a"}, {"before", nullptr}});
  EXPECT_ERROR("before: expected null, found 1: nothing is kept", check({{"name", "a"}, {"before", 1}}));
}

TEST(Endpoint, LimitsInputs) {
  const Endpoint path = {.path = "/texts",
                         .group = "texts",
                         .summary = "Texts",
                         .fields = {{"input", schema::anything(), "texts or ids", true, true}}};
  const auto check_two = [&](const Json& input) {
    check_inputs(Fields({{"input", input}}, "the request"), path, 2);
  };
  check_two({"a", "b"});
  check_two({1, 2, 3});  // the ids of one text
  check_two({{1, 2, 3}, {4}});
  EXPECT_ERROR("input: expected at most 2 inputs in a request, found 3", check_two({"a", "b", "c"}));
  EXPECT_ERROR("input: expected at most 2 inputs in a request, found 3", check_two({{1}, {2}, {3}}));
}

TEST(Endpoint, IsADocumentForPrograms) {
  const Json document = openapi({kPath}, /*has_key=*/true);
  const Json& operation = document["paths"]["/v1/things/{name}"]["post"];
  const Json& body = operation["requestBody"]["content"]["application/json"]["schema"];
  EXPECT_EQ(body["required"], Json({"name"}));
  EXPECT_EQ(body["properties"]["size"]["type"], Json({"integer", "null"}));
  EXPECT_EQ(body["properties"]["size"]["maximum"], 9);
  EXPECT_EQ(body["properties"]["before"]["type"], "null");
  EXPECT_EQ(body["additionalProperties"], false);
  EXPECT_EQ(operation["parameters"][0]["in"], "path");
  EXPECT_EQ(operation["security"][0].size(), 1u);
  EXPECT_FALSE(openapi({kPath}, false)["paths"]["/v1/things/{name}"]["post"].contains("security"));
}

TEST(Endpoint, KnowsEveryFieldOfAGenerationConfig) {
  GenerationConfig config;
  for (const Option& option : options_of(config))
    EXPECT_EQ(std::ranges::count(config_fields(), option.name, &RequestField::name), 1) << option.name;
}

}  // namespace
}  // namespace attend::serve
