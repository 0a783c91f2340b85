// The history of a conversation with tool calls, and the cost of its answers.
#include <attend/tasks.h>

#include "expect_error.h"
#include "tasks/letter_model.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

const ConversationOptions kLetters{
    .system = {},
    .chat_template = "u{user}b{bot}",
    .configure = with_fields(R"({"max_new_tokens": 2, "do_sample": false, "eos_token_id": null})"),
    .seed = 3};

TEST(Conversation, WaitsForTheResultsOfCalls) {
  const LetterModel files("gpt2-generation");
  Conversation conversation(files.path(), kLetters);
  const ChatMessage calls{"assistant", "", R"({"role": "assistant", "content": "", "tool_calls": [
      {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]})"};
  const ChatMessage result{"tool", "x", R"({"role": "tool", "tool_call_id": "1", "content": "x"})"};
  conversation.set_messages({{"user", "a"}, calls});
  EXPECT_EQ(conversation.calls(), (std::vector<ToolCall>{{"f", R"({"a":1})", "1"}}));
  EXPECT_ERROR("the model waits for the result of f", conversation.answer("b"));
  EXPECT_ERROR("expected a result for each of 1 calls, found 0", conversation.answer_with_results({}));
  EXPECT_ERROR("expected an answer to every message",
               conversation.set_messages({{"user", "a"}, calls, result}));
  EXPECT_EQ(conversation.messages().size(), 2u);
  // A question is removed together with all its answers.
  conversation.set_messages(
      {{"user", "c"}, {"assistant", "d"}, {"user", "a"}, calls, result, {"assistant", "b"}});
  EXPECT_TRUE(conversation.calls().empty());
  EXPECT_ERROR("the last answer calls no tool", conversation.answer_with_results({}));
  EXPECT_TRUE(conversation.take_back());
  EXPECT_EQ(conversation.messages().size(), 2u);
  EXPECT_TRUE(conversation.take_back());
  EXPECT_FALSE(conversation.take_back());
}

TEST(Conversation, TellsWhatAnAnswerCost) {
  const LetterModel files("gpt2-generation");
  Conversation conversation(files.path(), kLetters);
  EXPECT_EQ(conversation.figures().max_tokens, 0u);
  conversation.answer("abcdefghijklmnopqr");
  EXPECT_EQ(conversation.figures().prompt_tokens, 20u);  // with u and b
  EXPECT_EQ(conversation.figures().new_tokens, 2u);
  EXPECT_EQ(conversation.figures().tokens_read, 21u);  // the last token is not read
  EXPECT_EQ(conversation.figures().max_tokens, 40u);
  conversation.answer("c");
  // A page of 16 tokens is cached.
  EXPECT_EQ(conversation.figures().tokens_read, conversation.figures().prompt_tokens - 16 + 1);
  conversation.set_system("x");
  EXPECT_EQ(conversation.messages().front().role, "system");
  conversation.set_system("");
  EXPECT_EQ(conversation.messages().front().role, "user");
}

}  // namespace
}  // namespace attend
