#include "tasks/chat/chat_turn.h"

#include "expect_error.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

const Json kTools =
    Json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])");

// All fields of each message that the template reads.
constexpr const char* kEcho = "{% for m in messages %}{{ m | tojson }}{% endfor %}";

ChatMessage message_of(const Json& fields) {
  return {fields.at("role").get<std::string>(), "", fields.dump()};
}

const std::vector<ChatMessage> kCalled = {
    {"user", "question"},
    message_of(Json::parse(
        R"({"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]})")),
    message_of({{"role", "tool"}, {"tool_call_id", "1"}, {"content", "sun"}}),
    message_of({{"role", "tool"}, {"tool_call_id", "2"}, {"content", "rain"}})};

TEST(ChatTurn, WritesCallsAsTemplatesReadThem) {
  const TemporaryDirectory none;
  const ChatTemplate echo(std::string("{% if tools %}<tool_call>{% endif %}") + kEcho, none.path());
  const ChatTurn turn(echo, {{"tools", kTools}});
  const std::string text = turn.prompt(kCalled);
  EXPECT_TRUE(contains(
      text,
      R"("content": "", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}])"));
  EXPECT_TRUE(contains(text, R"({"role": "tool", "tool_call_id": "1", "content": "sun"})"));
}

TEST(ChatTurn, DescribesToolsToTemplatesThatKnowNone) {
  const TemporaryDirectory none;
  for (const std::string& text : {std::string(kEcho), std::string("U: {user}\\nB: {bot}")}) {
    const ChatTemplate chat_template(text, none.path());
    const ChatTurn turn(chat_template, {{"tools", kTools}});
    const std::vector<ChatMessage> messages = turn.readable(kCalled);
    ASSERT_EQ(messages.size(), 3u);
    EXPECT_TRUE(messages[0].content.starts_with("You can call functions."));
    EXPECT_TRUE(messages[0].content.ends_with("\n\nquestion"));
    EXPECT_EQ(messages[1].content, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>");
    EXPECT_EQ(messages[2].role, "user");
    EXPECT_EQ(messages[2].content,
              "<tool_response>\nsun\n</tool_response>\n<tool_response>\nrain\n</tool_response>");
    EXPECT_TRUE(contains(turn.prompt(kCalled), "You can call functions"));
    // Without tools, the template describes nothing, and the history is still readable.
    const ChatTurn without(chat_template, {{"tools", kTools}}, "none");
    EXPECT_EQ(without.readable(kCalled)[0].content, "question");
    EXPECT_EQ(without.readable(kCalled)[2].role, "user");
  }
}

TEST(ChatTurn, RefusesToolsThatCannotBeCalled) {
  const TemporaryDirectory none;
  const ChatTemplate plain(kEcho, none.path()), unknown("{{ tools }}", none.path());
  EXPECT_ERROR("tool_choice: there is no tool g", ChatTurn(plain, {{"tools", kTools}}, "g"));
  EXPECT_ERROR("tool_choice: expected tools to choose from", ChatTurn(plain, Json::object(), "required"));
  EXPECT_ERROR("a form that is not known", ChatTurn(unknown, {{"tools", kTools}}, "required"));
  EXPECT_ERROR("tools: expected a list, found 3", ChatTurn(plain, {{"tools", 3}}));
  EXPECT_ERROR("tools: tool 1: expected a JSON object", ChatTurn(plain, {{"tools", {3}}}));
  EXPECT_ERROR("parameters: expected a JSON schema, found []",
               ChatTurn(plain, {{"tools", {{{"name", "f"}, {"parameters", Json::array()}}}}}));
  const Json hard = {{{"name", "f"}, {"parameters", {{"not", Json::object()}}}}};
  EXPECT_ERROR("tools: f: texts cannot be kept to not", ChatTurn(plain, {{"tools", hard}}));
  Json free = hard;
  free[0]["strict"] = false;
  EXPECT_NO_THROW(ChatTurn(plain, {{"tools", free}}));
}

TEST(ChatTurn, TheHistoryKeepsCallsAndReasoning) {
  WholeAnswer answer;
  answer.add({"con", "rea", {{0, "f", "{\"a\""}}});
  answer.add({"tent", "son", {{0, "", ": 1}"}, {1, "g", "{}"}}});
  EXPECT_EQ(answer.calls, (std::vector<ToolCall>{{"f", "{\"a\": 1}"}, {"g", "{}"}}));
  const ChatMessage message = answer_message(answer);
  const Json fields = Json::parse(message.fields);
  EXPECT_EQ(message.content, "content");
  EXPECT_EQ(fields["reasoning_content"], "reason");
  EXPECT_EQ(fields["tool_calls"][0]["function"]["arguments"], (Json{{"a", 1}}));
  EXPECT_TRUE(answer_message({"only text"}).fields.empty());
}

TEST(CheckTurns, KnowsCallsAndResults) {
  const ChatMessage answer{"assistant", "it rains"};
  std::vector<ChatMessage> messages = kCalled;
  EXPECT_NO_THROW(check_turns(messages));
  messages.push_back(answer);
  EXPECT_NO_THROW(check_turns(messages));
  messages.push_back(answer);
  EXPECT_ERROR("message 6: expected one of user, found one of 'assistant'", check_turns(messages));
  EXPECT_ERROR("message 2: expected one of assistant, found one of 'tool'",
               check_turns(std::vector{kCalled[0], kCalled[2]}));
}

}  // namespace
}  // namespace attend
