// One turn of a conversation: the model's input, the constraints of its answer, and the parsed answer.
#pragma once

#include "formats/chat_answers/answer_parser.h"
#include "formats/chat_answers/answer_structure.h"
#include "tasks/chat/answer_text.h"

#include <optional>

namespace attend {

class ChatTurn {
 public:
  // The caller owns `chat_template`. `variables`: the template's, including "tools". `tool_choice`: auto,
  // none, required, or the name of the tool to call. Throws Error for invalid tools, and for a choice that
  // they do not allow.
  ChatTurn(const ChatTemplate& chat_template, Json variables, const std::string& tool_choice = "auto",
           bool parallel_tool_calls = true);

  // The messages as the template expects them: arguments of calls are objects, and their ids have the model's
  // form. What the template does not write of calls and results is text. If it does not write tools, the
  // first user message describes them.
  std::vector<ChatMessage> readable(std::span<const ChatMessage> messages) const;
  std::string prompt(std::span<const ChatMessage> messages) const;

  // Sets the endings of the answer to `prompt`, and the format of its calls. Returns the texts that end it.
  std::vector<std::string> set_form(GenerationConfig& config, const Tokenizer& tokenizer,
                                    const std::string& prompt) const;
  // Special tokens that the parser needs to see.
  std::vector<TokenId> shown_tokens(const Tokenizer& tokenizer) const;
  // The parser of the answer to `prompt`.
  AnswerParser parser(const std::string& prompt) const;

 private:
  void read_tools(const std::string& tool_choice);
  bool in_reasoning(const std::string& prompt) const;
  struct Written {
    bool calls = true, results = true;
  };
  Written written_by_template(std::span<const ChatMessage> messages) const;
  void write_as_text(Json& message, const Written& written) const;

  const ChatTemplate* template_;
  Json variables_;
  AnswerFormat format_;
  Json tools_ = Json::array();  // the tools that may be called
  std::string tool_text_;       // describes the tools, if the template does not
  std::vector<std::string> names_;
  ToolChoice choice_ = ToolChoice::automatic;
  Json callable_;  // the tools that this answer may call
  bool parallel_;
};

// The text of an answer while it is generated: up to its end, split into its parts.
class AnswerReader {
 public:
  AnswerReader(std::vector<std::string> endings, std::optional<AnswerParser> parser)
      : text_(std::move(endings), /*trims=*/parser.has_value()), parser_(std::move(parser)) {}
  AnswerPieces put(const std::string& more);
  AnswerPieces finish();

 private:
  AnswerText text_;
  std::optional<AnswerParser> parser_;  // absent: all text is content
};

// A complete answer, from its parts.
struct WholeAnswer {
  std::string content = {}, reasoning = {};
  std::vector<ToolCall> calls = {};

  void add(const AnswerPieces& pieces);
};

// The answer as a message for the history.
ChatMessage answer_message(const WholeAnswer& answer);

}  // namespace attend
