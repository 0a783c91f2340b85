#include "tasks/chat/chat_template.h"

#include "base/file.h"
#include "expect_error.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

const std::vector<ChatMessage> kQuestion = {{"user", "hi"}};

// A directory with these files.
class Directory {
 public:
  explicit Directory(const std::vector<std::pair<std::string, std::string>>& files = {}) {
    for (const auto& [name, text] : files) {
      std::filesystem::create_directories((path() / name).parent_path());
      write_file_atomically(path() / name, text);
    }
  }
  std::filesystem::path path() const { return folder_.path(); }

 private:
  TemporaryDirectory folder_;
};

std::string config_of(const Json& chat_template) {
  return Json{{"eos_token", "</s>"}, {"chat_template", chat_template}}.dump();
}

TEST(ChatTemplate, IsReadFromAllPlaces) {
  const Directory text(
      {{"tokenizer_config.json", config_of("text{{ eos_token }}{{ bos_token is defined }}")}});
  EXPECT_EQ(ChatTemplate("", text.path()).prompt(kQuestion), "text</s>False");
  const Json list = {{{"name", "rag"}, {"template", "R"}}, {{"name", "default"}, {"template", "D"}}};
  const Directory named({{"tokenizer_config.json", config_of(list)}});
  EXPECT_EQ(ChatTemplate("", named.path()).prompt(kQuestion), "D");
  EXPECT_EQ(ChatTemplate("rag", named.path()).prompt(kQuestion), "R");
  const Directory file({{"tokenizer_config.json", config_of("text")},
                        {"chat_template.jinja", "F"},
                        {"additional_chat_templates/tool_use.jinja", "T{{ tools | length }}"}});
  const ChatTemplate both("", file.path());
  EXPECT_EQ(both.prompt(kQuestion), "F");
  EXPECT_EQ(both.prompt(kQuestion, {{"tools", {1, 2}}}), "T2");
  EXPECT_EQ(both.prompt(kQuestion, {{"tools", nullptr}}), "F");
  EXPECT_EQ(ChatTemplate("default", file.path()).prompt(kQuestion, {{"tools", {1, 2}}}), "F");
  const Directory json({{"chat_template.json", std::string(R"({"chat_template": "J"})")}});
  EXPECT_EQ(ChatTemplate("", json.path()).prompt(kQuestion), "J");
  const Directory no_default(
      {{"additional_chat_templates/rag.jinja", "R"}, {"additional_chat_templates/x.jinja", "X"}});
  EXPECT_ERROR("expected a chat template named default, found rag, x",
               ChatTemplate("", no_default.path()).prompt(kQuestion));
  const Directory none;
  EXPECT_ERROR("there is none; say how a turn is written", ChatTemplate("", none.path()));
}

TEST(ChatTemplate, TakesWhatApplyChatTemplateTakes) {
  const Directory none;
  const ChatTemplate all(
      "{% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.name }}{{ "
      "c.arguments | "
      "tojson }}{% endfor %};{% endfor %}{{ tools is defined }}{{ tools is none }}{{ documents }}{{ "
      "enable_thinking }}"
      "{% if add_generation_prompt %}bot:{% endif %}",
      none.path());
  EXPECT_EQ(all.prompt(kQuestion), "user:hi;TrueTrueNonebot:");
  EXPECT_EQ(all.prompt(kQuestion,
                       {{"enable_thinking", false}, {"add_generation_prompt", false}, {"documents", {1}}}),
            "user:hi;TrueTrue[1]False");
  const ChatMessage call{
      "assistant", "",
      R"({"role": "assistant", "content": null, "tool_calls": [{"name": "f", "arguments": {"é": 1.0}}]})"};
  EXPECT_EQ(all.prompt(std::vector{kQuestion[0], call}),
            "user:hi;assistant:Nonef{\"é\": 1.0};TrueTrueNonebot:");
}

TEST(ChatTemplate, ContinuesTheLastMessage) {
  const Directory none;
  const ChatTemplate whole("{% for m in messages %}<{{ m.content }}>{% endfor %}", none.path()),
      trimmed("{% for m in messages %}<{{ m.content | trim }}>{% endfor %}", none.path()),
      parts("{% for m in messages %}{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endfor %}",
            none.path());
  const std::vector<ChatMessage> messages = {{"user", "hi"}, {"assistant", "I am "}};
  const Json go_on = {{"continue_final_message", true}};
  EXPECT_EQ(whole.prompt(messages, go_on), "<hi><I am ");
  EXPECT_EQ(trimmed.prompt(messages, go_on), "<hi><I am");
  const ChatMessage in_parts{"assistant", "",
                             R"({"role": "assistant", "content": [{"type": "text", "text": "I"}]})"};
  EXPECT_EQ(parts.prompt(std::vector{in_parts}, go_on), "<I");
  EXPECT_ERROR("found both: an answer begins or goes on",
               whole.prompt(messages, {{"continue_final_message", true}, {"add_generation_prompt", true}}));
  EXPECT_ERROR("does not write the last message",
               ChatTemplate("{{ 1 }}", none.path()).prompt(messages, go_on));
  EXPECT_ERROR("expected true or false, found 1", whole.prompt(messages, {{"continue_final_message", 1}}));
}

TEST(ChatTemplate, OfPlainTextKnowsOnlyTurns) {
  const Directory none;
  const ChatTemplate plain("U: {user}\\nB: {bot}", none.path());
  EXPECT_TRUE(plain.is_plain());
  EXPECT_EQ(plain.prompt(kQuestion), "U: hi\nB:");
  EXPECT_ERROR("tools: a template of plain text knows only turns", plain.prompt(kQuestion, {{"tools", {1}}}));
  EXPECT_ERROR("knows only turns of text", plain.prompt(std::vector<ChatMessage>{{"user", "", "{}"}}));
}

TEST(ChatTemplate, FindsWhatEndsAnAnswer) {
  const Directory none;
  EXPECT_EQ(
      ChatTemplate("{% for m in messages %}{{ m.role }} {{ m.content }}<end>\n{% endfor %}", none.path())
          .end_of_answer(),
      "<end>");
  EXPECT_EQ(ChatTemplate("{{ raise_exception('tools only') }}", none.path()).end_of_answer(), "");
}

TEST(ChatTemplate, RefusesInvalidVariables) {
  EXPECT_ERROR("expected a JSON object", read_chat_variables("[]"));
  EXPECT_ERROR("expected no messages among them", read_chat_variables(R"({"messages": []})"));
}

}  // namespace
}  // namespace attend
