// Writes a conversation as the text that a model reads.
#pragma once

#include <attend/tasks.h>

#include "formats/jinja/jinja.h"

#include <map>
#include <span>

namespace attend {

// Throws Error unless messages of user and assistant alternate, optionally after a system message. Tool
// messages may come between an answer with calls and the next answer.
void check_turns(std::span<const ChatMessage> messages);
inline bool begins_with_system(std::span<const ChatMessage> messages) {
  return !messages.empty() && messages.front().role == "system";
}

// The variables of a template, from JSON text. Throws Error for a value that is not an object, and for
// messages, which are given separately.
Json read_chat_variables(const std::string& text);

class ChatTemplate {
 public:
  // `given`: a template, or the name of one of the model's; empty: the model's default. It is Jinja if it
  // contains {{ or {%, else plain text with {user} and {bot}, optionally {system} at the start, for one turn;
  // "\n" and "\t" are escapes. Throws Error if there is no template, or if it cannot be parsed.
  ChatTemplate(const std::string& given, const std::filesystem::path& model);

  // Whether the template is plain text, which has only turns of user and assistant; Jinja decides itself what
  // it accepts.
  bool is_plain() const { return templates_.empty(); }

  // The text up to the start of the answer. `variables`: an object with other variables of
  // apply_chat_template: "tools", "documents", "enable_thinking" and so on. Two of them control the result:
  // "add_generation_prompt" (true), and "continue_final_message" (false): the text ends with the last
  // message, which the model continues.
  std::string prompt(std::span<const ChatMessage> messages, const Json& variables = Json::object()) const {
    return render(messages, variables).text;
  }
  // The same, with the parts of the text that the template marks as the model's own ({% generation %}).
  JinjaTemplate::Rendered render(std::span<const ChatMessage> messages, const Json& variables) const;
  // The template that writes these messages; empty if it is plain text.
  std::string text(const Json& variables = Json::object()) const;
  // The text after an answer that ends it; empty if it varies.
  std::string end_of_answer() const;

 private:
  // Plain text, split at the names.
  struct Plain {
    std::string before_system, after_system, before_user, before_bot, after_bot;
  };
  static Plain read_plain(const std::string& text);
  std::string render_plain(std::span<const ChatMessage> messages, bool answer_follows) const;
  std::string continued(Json variables) const;
  struct Jinja {
    JinjaTemplate compiled;
    std::string text;
  };
  const Jinja& choose(const Json& variables) const;

  std::map<std::string, Jinja> templates_;  // by name: default, tool_use, rag
  std::string chosen_;                      // the name of one of these; empty: depends on the messages'
                                            // variables
  Json tokens_ = Json::object();            // bos_token and so on
  Plain plain_;
};

}  // namespace attend
