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

// Templates refuse other ids, or write them where the model expects a name.
TEST(ChatTurn, GivesCallsTheIdsOfTheirModel) {
  const TemporaryDirectory none;
  const auto ids = [&](const std::string& marks, std::vector<ChatMessage> messages) {
    const ChatTemplate chat_template("{% if tools %}" + marks + "{% endif %}" + kEcho, none.path());
    const ChatTurn turn(chat_template, {{"tools", kTools}});
    std::vector<std::string> found;
    for (const ChatMessage& message : turn.readable(messages)) {
      if (message.fields.empty()) continue;
      const Json fields = Json::parse(message.fields);
      for (const Json& call : fields.value("tool_calls", Json::array()))
        found.push_back(call.value("id", "-"));
      if (fields["role"] == "tool") found.push_back(fields.value("tool_call_id", "-"));
    }
    return found;
  };
  const auto talk = [](const std::vector<Json>& given, const std::vector<Json>& results) {
    Json calls = Json::array();
    for (const Json& id : given) {
      calls.push_back({{"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}});
      if (!id.is_null()) calls.back()["id"] = id;
    }
    std::vector<ChatMessage> messages = {{"user", "question"},
                                         message_of({{"role", "assistant"}, {"tool_calls", calls}})};
    for (const Json& id : results) {
      Json result = {{"role", "tool"}, {"content", "sun"}};
      if (!id.is_null()) result["tool_call_id"] = id;
      messages.push_back(message_of(result));
    }
    return messages;
  };
  const std::string mistral = "[TOOL_CALLS]", kimi = "<|tool_call_argument_begin|>";
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids(mistral, talk({"call_1", "aB3456789"}, {"aB3456789", "call_1"})),
            (Ids{"000000000", "aB3456789", "aB3456789", "000000000"}));
  EXPECT_EQ(ids(mistral, talk({nullptr, nullptr}, {nullptr, nullptr})),
            (Ids{"000000000", "000000001", "000000000", "000000001"}));
  EXPECT_EQ(ids(kimi, talk({"call_1", "functions.f:7"}, {"call_1", "functions.f:7"})),
            (Ids{"functions.f:0", "functions.f:7", "functions.f:0", "functions.f:7"}));
  EXPECT_EQ(ids("<tool_call>", talk({"call_1"}, {"call_1"})), (Ids{"call_1", "call_1"}));
}

TEST(ChatTurn, WritesWhatTheTemplateLeavesOut) {
  const TemporaryDirectory none;
  const ChatTemplate chat_template(
      "{% if tools %}<tool_call>{% endif %}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}",
      none.path());
  const ChatTurn turn(chat_template, {{"tools", kTools}});
  EXPECT_TRUE(contains(turn.prompt(kCalled),
                       "[assistant]<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
                       "1}}\n</tool_call>[tool]sun[tool]rain"));
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
