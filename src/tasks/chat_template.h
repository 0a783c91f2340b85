// How a conversation is written for a model to read.
#pragma once

#include <attend/tasks.h>

#include "formats/jinja.h"

#include <span>

namespace attend {

// Error unless messages of user and assistant take turns, perhaps behind one of the system.
void check_turns(std::span<const ChatMessage> messages);
inline bool begins_with_system(std::span<const ChatMessage> messages) {
  return !messages.empty() && messages.front().role == "system";
}

class ChatTemplate {
 public:
  // `given`, or where it is empty the chat_template of the model's tokenizer_config.json (or
  // chat_template.jinja). It is Jinja if it has {{ or {%, else plain text with {user} and {bot}, and perhaps
  // {system} in front, for one turn; "\n" and "\t" may stand for what they mean. Error if there is none, or
  // one that cannot be read.
  ChatTemplate(const std::string& given, const std::filesystem::path& model);

  // Up to where the answer begins.
  std::string prompt(std::span<const ChatMessage> messages) const { return render(messages, true); }
  // What is written behind an answer, and so ends one; empty: nothing that is always the same.
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
