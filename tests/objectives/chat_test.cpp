#include "objectives/chat.h"

#include "objectives/base/kinds.h"
#include "objectives/small_setting.h"
#include "objectives/talk_setting.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::string_view kTwoAnswers =
    R"({"messages": [{"role": "user", "content": "w1 w2"}, {"role": "assistant", "content": "w3"},)"
    R"( {"role": "user", "content": "w4"}, {"role": "assistant", "content": "w5 w6"}]})"
    "\n";

Batch batch_of(const Objective& objective) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < objective.examples(); ++i) all.push_back(i);
  return objective.collate(all, {});
}

TEST(Chat, LearnsTheAssistantsWordsAlone) {
  TalkSetting setting;
  setting.write_file("talk.jsonl", kTwoAnswers);
  // By the difference of prefixes, and by marks with the same meaning.
  for (const std::string_view chat_template : {kTurns, kMarkedTurns}) {
    setting.recipe.chat_template = chat_template;
    const Chat chat(setting.setting());
    ASSERT_EQ(chat.examples(), 1);
    const Batch batch = batch_of(chat);
    EXPECT_EQ(setting.words(ids_of(batch.tokens, 0)),
              "user w1 w2 end assistant w3 end user w4 end assistant w5 w6 end");
    EXPECT_EQ(setting.words(ids_of(batch.token_labels, batch.tokens.offsets, 0)),
              "- - - - w3 end - - - - w5 w6 end -");
    EXPECT_EQ(batch.counts, std::vector<std::int64_t>{5});
    EXPECT_EQ(chat.tokens(0), 14);
  }
}

TEST(Chat, MarksDecideWhatIsLearned) {
  TalkSetting setting;
  setting.write_file("talk.jsonl", kTwoAnswers);
  setting.recipe.chat_template =
      "{% for m in messages %}{{ m.role + ' ' }}{% if m.role == 'user' %}{% generation %}{{ m.content }}{% "
      "endgeneration %}{% else %}{{ m.content }}{% endif %}{{ ' end ' }}{% endfor %}";
  const Batch batch = batch_of(Chat(setting.setting()));
  EXPECT_EQ(setting.words(ids_of(batch.token_labels, batch.tokens.offsets, 0)),
            "w1 w2 - - - - - w4 - - - - - -");
}

TEST(Chat, TheTemplateReadsToolsAndKeywords) {
  TalkSetting setting;
  setting.recipe.chat_template = "{{ tools[0] }} {{ documents[0] }} {{ word }} " + std::string(kTurns);
  setting.write_file("talk.jsonl",
                     R"({"messages": [{"role": "assistant", "content": "w1"}], "tools": ["w7"],)"
                     R"( "documents": ["w8"], "chat_template_kwargs": {"word": "w9"}})"
                     "\n");
  EXPECT_EQ(setting.words(ids_of(batch_of(Chat(setting.setting())).tokens, 0)), "w7 w8 w9 assistant w1 end");
}

TEST(Chat, LongConversationsLoseTheirEnd) {
  TalkSetting setting;
  setting.recipe.chat_template = kTurns;
  setting.write_file("talk.jsonl", std::string(kTwoAnswers) +
                                       R"({"messages": [{"role": "user", "content": "w1 w2 w3 w4 w5 w6 w7"},)"
                                       R"( {"role": "assistant", "content": "w8"}]})"
                                       "\n");
  setting.recipe.max_length = 8;
  const Chat chat(setting.setting());
  ASSERT_EQ(chat.examples(), 1) << "of the second nothing is left to learn";
  const Batch batch = batch_of(chat);
  EXPECT_EQ(setting.words(ids_of(batch.token_labels, batch.tokens.offsets, 0)), "- - - - w3 end - -");
  setting.recipe.max_length = 4;
  EXPECT_TRUE(contains(error_of([&] { Chat(setting.setting()); }), "expected a larger `max_length`"));
}

TEST(Chat, ConversationsOfABatchDoNotSeeEachOther) {
  TalkSetting setting;
  setting.recipe.chat_template = kTurns;
  setting.write_file("talk.jsonl", std::string(kTwoAnswers) +
                                       R"({"messages": [{"role": "user", "content": "w7"},)"
                                       R"( {"role": "assistant", "content": "w8 w9"}]})"
                                       "\n");
  const Chat chat(setting.setting());
  Trainee trainee = setting.trainee();
  const auto loss = [&](const std::vector<std::int64_t>& examples) {
    Pass pass = Pass::inference();
    return chat.losses(trainee, chat.collate(examples, {}), pass, {}).sums.at(0).item<double>();
  };
  EXPECT_NEAR(loss({0, 1}), loss({0}) + loss({1}), 1e-4);
}

TEST(Chat, SaysWhatATemplateDoesNotAllow) {
  TalkSetting setting;
  setting.write_file("talk.jsonl", kTwoAnswers);
  const auto error = [&](std::string_view chat_template) {
    setting.recipe.chat_template = chat_template;
    return error_of([&] { Chat(setting.setting()); });
  };
  // The template writes the last answer differently from the others.
  EXPECT_TRUE(contains(
      error("{% for m in messages %}{{ m.role + ' ' + m.content + (' last ' if loop.last and m.role == "
            "'assistant' else ' end ') }}"
            "{% endfor %}{% if add_generation_prompt %}{{ 'assistant ' }}{% endif %}"),
      "talk.jsonl, line 1: message 2: the chat template writes it otherwise when more messages follow"));
  EXPECT_TRUE(
      contains(error("{% for m in messages %}{{ m.role + ' ' + m.content + ' end ' }}{% endfor %}"
                     "{% if add_generation_prompt %}{{ 'bot ' }}{% endif %}"),
               "line 1: message 2: the chat template writes the text before it otherwise when it follows"));
  EXPECT_TRUE(contains(error("{{ raise_exception('no such talk') }}"), "no such talk"));
  setting.write_file("talk.jsonl", "{\"messages\": [{\"role\": \"user\", \"content\": \"w1\"}]}\n");
  EXPECT_TRUE(contains(error(kTurns), "line 1: messages: expected one of the assistant, found none"));
  setting.recipe.chat_template = "";
  EXPECT_TRUE(contains(error_of([&] { Chat(setting.setting()); }), "chat_template: there is none"));
}

}  // namespace
}  // namespace attend
