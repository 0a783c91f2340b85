// The items of a response, whole and as a stream of events.
#include "serve/routes/response.h"

#include <gtest/gtest.h>

namespace attend::serve {
namespace {

QueueResult result_of(const std::string& reasoning, const std::string& text) {
  QueueResult result;
  GeneratedText& made = result.texts.emplace_back();
  made.reasoning = reasoning;
  made.text = text;
  return result;
}

std::string sent(Response& response) {
  return response.pipe()->take(std::chrono::milliseconds(0)).text;
}

std::vector<Json> events(Response& response) {
  std::vector<Json> all;
  const std::string text = sent(response);
  for (std::size_t at = 0; (at = text.find("data: ", at)) != text.npos; ++at)
    all.push_back(Json::parse(text.substr(at + 6, text.find('\n', at) - at - 6)));
  return all;
}

// The texts of all events of this type, joined.
std::string joined(const std::vector<Json>& events, const std::string& type, const char* field) {
  std::string all;
  for (const Json& event : events)
    if (event.at("type") == type) all += event.at(field).get<std::string>();
  return all;
}

TEST(Response, ReasoningIsAnItemOfItsOwn) {
  Response response("m", Fields({{"input", "a"}}, "it"), {});
  response.end(0, result_of("so it is", "a door"));
  const Json whole = Json::parse(sent(response));
  ASSERT_EQ(whole.at("output").size(), 2u);
  const Json &reasoning = whole["output"][0], &message = whole["output"][1];
  EXPECT_EQ(reasoning["type"], "reasoning");
  EXPECT_EQ(reasoning["summary"], Json::array());
  EXPECT_EQ(reasoning["content"], Json::parse(R"([{"type": "reasoning_text", "text": "so it is"}])"));
  EXPECT_EQ(message["type"], "message");
  EXPECT_EQ(message["content"][0]["text"], "a door");
}

TEST(Response, ReasoningIsStreamedBeforeTheMessage) {
  RequestSettings requested;
  requested.stream = true;
  Response response("m", Fields({{"input", "a"}}, "it"), requested);
  const std::vector<std::pair<std::string, std::string>> tokens = {
      {"", "so "}, {"", "it is"}, {"a ", ""}, {"do", ""}};
  for (const auto& [more, reasoning] : tokens) {
    QueueToken token;
    token.more = more;
    token.reasoning = reasoning;
    response.take(0, token);
  }
  response.end(0, result_of("so it is", "a door"));
  const std::vector<Json> all = events(response);
  EXPECT_EQ(joined(all, "response.reasoning_text.delta", "delta"), "so it is");
  EXPECT_EQ(joined(all, "response.reasoning_text.done", "text"), "so it is");
  EXPECT_EQ(joined(all, "response.output_text.delta", "delta"), "a door");
  std::vector<std::string> types;
  for (std::size_t i = 0; i < all.size(); ++i) {
    types.push_back(all[i].at("type").get<std::string>());
    EXPECT_EQ(all[i].at("sequence_number"), i);
  }
  const std::vector<std::string> expected = {"response.created",
                                             "response.in_progress",
                                             "response.output_item.added",
                                             "response.content_part.added",
                                             "response.reasoning_text.delta",
                                             "response.reasoning_text.delta",
                                             "response.reasoning_text.done",
                                             "response.content_part.done",
                                             "response.output_item.done",
                                             "response.output_item.added",
                                             "response.content_part.added",
                                             "response.output_text.delta",
                                             "response.output_text.delta",
                                             "response.output_text.delta",
                                             "response.output_text.done",
                                             "response.content_part.done",
                                             "response.output_item.done",
                                             "response.completed"};
  EXPECT_EQ(types, expected);
  EXPECT_EQ(all.back()["response"]["output"][1]["content"][0]["text"], "a door");
}

// The length limit may come before the answer.
TEST(Response, ReasoningMayBeCutOff) {
  Response response("m", Fields({{"input", "a"}, {"metadata", nullptr}}, "it"), {});
  QueueResult result = result_of("so it", "");
  result.texts.front().cut_off = true;
  response.end(0, result);
  const Json whole = Json::parse(sent(response));
  ASSERT_EQ(whole["output"].size(), 1u);
  EXPECT_EQ(whole["output"][0]["status"], "incomplete");
  EXPECT_EQ(whole["metadata"], Json::object());
}

}  // namespace
}  // namespace attend::serve
