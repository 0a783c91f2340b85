// How a conversation is written for a model to read.
#pragma once

#include <attend/tasks.h>

#include "formats/jinja.h"

#include <span>

namespace attend {

// Throws Error unless messages of user and assistant alternate, optionally after a system message.
void check_turns(std::span<const ChatMessage> messages);
inline bool begins_with_system(std::span<const ChatMessage> messages) {
  return !messages.empty() && messages.front().role == "system";
}

class ChatTemplate {
 public:
  // Uses `given`, or if it is empty the chat_template of the model's tokenizer_config.json (or
  // chat_template.jinja). It is Jinja if it contains {{ or {%, else plain text with {user} and {bot},
  // optionally {system} at the start, for one turn; "\n" and "\t" are escapes. Throws Error if there is none,
  // or an unsupported one.
  ChatTemplate(const std::string& given, const std::filesystem::path& model);

  // Up to where the answer begins.
  std::string prompt(std::span<const ChatMessage> messages) const { return render(messages, true); }
  // The text after an answer, which ends one; empty if it varies.
  std::string end_of_answer() const;

 private:
  // Plain text, cut up at the names.
  struct Plain {
    std::string before_system, after_system, before_user, before_bot, after_bot;
  };
  static Plain read_plain(const std::string& text);
  std::string render(std::span<const ChatMessage> messages, bool answer_follows) const;

  std::optional<JinjaTemplate> jinja_;
  Json tokens_ = Json::object();  // bos_token and so on
  Plain plain_;
};

}  // namespace attend
