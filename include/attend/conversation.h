// Conversations with a decoder, with or without tools. tasks.h includes this.
#pragma once

#include <attend/export.h>
#include <attend/generation_config.h>
#include <attend/model_path.h>
#include <attend/tool_calls.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attend {
inline namespace v1 {

struct ChatMessage {
  std::string role, content;  // role: system, user, assistant, or what else the model's chat template knows
  // In place of both, the message as a JSON object with all its fields, as the chat template reads them:
  // "tool_calls", "reasoning_content", "content" as a list of parts, and so on. Its role is that of `role`.
  std::string fields = {};
};

struct ConversationOptions {
  std::string system;  // the system message
  // The format of a turn: plain text such as "User: {user}\nBot: {bot}", a Jinja template, or the name of one
  // of the model's templates. Empty: the model's default template.
  std::string chat_template;
  // Changes the config, which is the model's with 256 new tokens, sampled at a temperature of 0.7.
  Configure configure = {};
  std::uint64_t seed = 0;
  // A JSON object with other variables of the template, as apply_chat_template takes them: "tools",
  // "documents", "enable_thinking" and so on. With tools the model may call them (Conversation::calls).
  std::string chat_variables = "{}";
  // Gets the model's reasoning as it comes, which is not part of the answer (<think>...</think>).
  std::function<void(const std::string& more)> on_reasoning = {};
};

// About one answer of a Conversation.
struct AnswerFigures {
  std::size_t prompt_tokens = 0;  // the conversation so far, as the model sees it
  std::size_t tokens_read = 0;    // of the prompt and the answer, without those found in the KV cache
  std::size_t new_tokens = 0;
  std::size_t max_tokens = 0;                // that the model reads: prompt and answer
  double seconds_to_first = 0, seconds = 0;  // to the first new token, and to the end
};

// A conversation with a decoder. It keeps its KV cache, so a new question costs only the last answer and the
// question. If the conversation exceeds the model's maximum, the oldest turns are dropped, with a warning,
// and the rest is read again. A copy starts with the same messages, has its own history, and reads them again
// before its first answer. Not thread-safe.
class ATTEND_API Conversation {
 public:
  Conversation(const ModelPath& model, const ConversationOptions& options);
  Conversation(const Conversation& other);
  Conversation(Conversation&& other) noexcept;
  Conversation& operator=(Conversation other) noexcept;
  ~Conversation();

  // Gets new text in whole characters, often empty; return false to stop the answer.
  using OnAnswer = std::function<bool(const std::string& more)>;
  // The answer, or its beginning if it was stopped. If the question is longer than the model's maximum,
  // throws Error and leaves the conversation unchanged.
  std::string answer(const std::string& text, const OnAnswer& on_text = {});

  // The calls of tools in the last answer. Each needs a result before the next question.
  const std::vector<ToolCall>& calls() const;
  // Gives the results of calls(), in their order, and returns the next answer, as answer() does.
  std::string answer_with_results(const std::vector<std::string>& results, const OnAnswer& on_text = {});
  const AnswerFigures& figures() const;  // about the last answer

  const std::vector<ChatMessage>& messages() const;
  // Throws Error unless they are alternating questions and answers, optionally after one system message.
  // Calls and their results may stand between a question and its answer.
  void set_messages(std::vector<ChatMessage> messages);
  void set_system(const std::string& text);  // replaces the system message; empty: removes it
  bool take_back();  // removes the last question and all after it; false if there is none
  // The text that the model would read for this question, including all earlier turns.
  std::string prompt(const std::string& text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v1
}  // namespace attend
