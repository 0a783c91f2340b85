#include "data/conversations.h"

#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

std::vector<TaughtConversation> conversations(std::string_view content) {
  const TemporaryDirectory directory;
  std::vector<TaughtConversation> all;
  read_conversations({directory.file("talk.jsonl", content).string()},
                     [&](const TaughtConversation& each) { all.push_back(each); });
  return all;
}

std::vector<Preference> preferences(std::string_view content) {
  const TemporaryDirectory directory;
  std::vector<Preference> all;
  read_preferences({directory.file("pairs.jsonl", content).string()},
                   [&](const Preference& each) { all.push_back(each); });
  return all;
}

TEST(ConversationRows, AreRowsOfMessages) {
  const auto all = conversations(
      R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": null, "tool_calls": []}], "tools": [{"name": "f"}], "chat_template_kwargs": {"enable_thinking": false}, "id": 3}
{"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "tools": "[1]", "documents": null}
)");
  ASSERT_EQ(all.size(), 2U);
  ASSERT_EQ(all[0].messages.size(), 2U);
  EXPECT_EQ(all[0].messages[0].role, "user");
  EXPECT_EQ(all[0].messages[0].content, "hi");
  EXPECT_EQ(all[0].messages[0].fields, "");
  EXPECT_EQ(all[0].messages[1].fields, R"({"role":"assistant","content":null,"tool_calls":[]})");
  EXPECT_EQ(all[0].variables.dump(), R"({"enable_thinking":false,"tools":[{"name":"f"}]})");
  EXPECT_TRUE(contains(all[1].messages[0].fields, "\"type\":\"text\""));
  EXPECT_EQ(all[1].variables.dump(), R"({"tools":[1]})");
}

// A bad row is left out; several are an error that names places and reasons.
TEST(ConversationRows, NameWhatIsWrong) {
  constexpr std::string_view kGood = "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}\n";
  EXPECT_EQ(conversations(std::string(kGood) + "{\"text\": \"hi\"}\n" + std::string(kGood)).size(), 2U);
  const auto error = [](std::string_view row) { return error_of([&] { conversations(row); }); };
  EXPECT_TRUE(contains(error("{\"text\": \"hi\"}\n"), "line 1: expected a field messages, found none"));
  EXPECT_TRUE(contains(error("{\"messages\": []}\n"), "messages: expected a list of messages, found []"));
  EXPECT_TRUE(
      contains(error("{\"messages\": [{\"from\": \"human\"}]}\n"), "message 1: role: expected a text"));
  EXPECT_TRUE(contains(error("{\"messages\": [\"hi\"]}\n"), "message 1: expected an object with a role"));
  EXPECT_TRUE(contains(error("[1]\n"), "item 1: expected an object, found 1"));
  EXPECT_TRUE(contains(error(""), "found no rows"));
  const auto with = [](std::string_view field) {
    return "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}], " + std::string(field) + "}\n";
  };
  EXPECT_TRUE(contains(error(with("\"tools\": 1")), "tools: expected a list, found 1"));
  EXPECT_TRUE(contains(error(with("\"documents\": \"{}\"")), "documents: expected a list"));
  EXPECT_TRUE(
      contains(error(with("\"chat_template_kwargs\": []")), "chat_template_kwargs: expected an object"));
  EXPECT_TRUE(contains(error(with("\"chat_template_kwargs\": {\"messages\": 1}")),
                       "expected no messages among them"));
}

TEST(PreferenceRows, AreTextsOrMessages) {
  const auto all = preferences(R"({"prompt": "a", "chosen": "b", "rejected": "c"}
{"prompt": [{"role": "user", "content": "a"}], "chosen": [{"role": "assistant", "content": "b"}], "rejected": [{"role": "assistant", "content": "c"}]}
{"chosen": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "rejected": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "c"}]}
)");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(std::get<std::string>(all[0].chosen), "b");
  for (const std::size_t i : {1, 2}) {
    ASSERT_EQ(std::get<Messages>(all[i].prompt).size(), 1U) << i;
    EXPECT_EQ(std::get<Messages>(all[i].prompt)[0].content, "a") << i;
    ASSERT_EQ(std::get<Messages>(all[i].rejected).size(), 1U) << i;
    EXPECT_EQ(std::get<Messages>(all[i].rejected)[0].content, "c") << i;
  }
}

TEST(PreferenceRows, NameWhatIsWrong) {
  const auto error = [](std::string_view row) { return error_of([&] { preferences(row); }); };
  EXPECT_TRUE(contains(error(R"({"prompt": "a", "chosen": "b"})"), "expected a field rejected, found none"));
  EXPECT_TRUE(contains(error(R"({"chosen": "b", "rejected": "c"})"), "prompt: expected a text or a list"));
  EXPECT_TRUE(
      contains(error(R"({"prompt": "a", "chosen": "", "rejected": "c"})"), "found one that is empty"));
  EXPECT_TRUE(contains(error(R"({"prompt": "a", "chosen": [{"role": "assistant"}], "rejected": "c"})"),
                       "expected three texts or three lists of messages"));
  EXPECT_TRUE(contains(error(R"({"chosen": [{"role": "user"}], "rejected": [{"role": "assistant"}]})"),
                       "messages with which chosen and rejected begin"));
}

}  // namespace
}  // namespace attend
