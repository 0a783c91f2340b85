// Splits the text of an answer, while it is generated, into content, reasoning and tool calls.
#pragma once

#include "formats/chat_answers/answer_format.h"
#include "formats/chat_answers/call_reader.h"

#include <optional>

namespace attend {

struct AnswerPieces {
  std::string content = {}, reasoning = {};
  std::vector<ToolCallPiece> calls = {};

  bool empty() const { return content.empty() && reasoning.empty() && calls.empty(); }
  void append(AnswerPieces more);
  bool operator==(const AnswerPieces&) const = default;
};

// The joined pieces do not depend on how the text is divided into parts. Content is returned as soon as it
// cannot be the beginning of a mark. White space around content and reasoning is left out, except at the very
// end of an answer without calls. Text that looks like a call, but is not one, is content.
class AnswerParser {
 public:
  // `tools`: their names; without any, calls stay content. `in_reasoning`: the prompt has opened it.
  // `schemas`: of the arguments of each tool, by its name. They say what tagged arguments mean.
  AnswerParser(AnswerFormat format, std::vector<std::string> tools, bool in_reasoning,
               Json schemas = Json::object());

  AnswerPieces put(std::string_view more);
  AnswerPieces finish();  // the rest

 private:
  enum class State { header, content, reasoning, name, call, whole, after_call };

  bool step(AnswerPieces& pieces);  // false: it needs more text
  bool step_header();
  bool step_start();
  bool step_content(AnswerPieces& pieces);
  bool step_reasoning(AnswerPieces& pieces);
  bool step_name();
  bool step_call(AnswerPieces& pieces);
  std::optional<bool> begins_json() const;
  bool step_whole(AnswerPieces& pieces);
  bool step_after_call();

  bool may_call() const { return !tools_.empty() && format_.calls != nullptr; }
  void begin_call(std::string opened, bool bare);
  void give_back(AnswerPieces& pieces);
  void say(std::string_view text, std::string& to);
  void enter(State state);
  bool has_headers() const;

  AnswerFormat format_;
  std::vector<std::string> tools_;
  Json schemas_;
  State state_ = State::content;
  std::string buffer_;     // text that is not interpreted yet
  std::string space_;      // white space that may be followed by more text
  bool has_text_ = false;  // of the content or reasoning that is read
  bool at_start_ = false;  // no content so far
  bool is_bare_ = false;   // the call that is read did
  std::string opened_;     // the text of a call that is not certain yet
  CallReader reader_{0};
  std::size_t calls_ = 0;
  bool is_over_ = false;      // no more text comes
  bool any_message_ = false;  // there was a header
};

struct WholeCall {
  std::string name, arguments;  // the arguments in JSON
};
// Calls in another notation than JSON. Empty: the text is something else.
std::vector<WholeCall> read_whole_calls(std::string_view text, const CallFormat& format, const Json& schemas);
// f(a=1, b='x') as JSON: {"a": 1, "b": "x"}; also print(f(...)), f.call(...) and a list of calls.
std::vector<WholeCall> read_python_calls(std::string_view text);
// A value in Python's notation, such as {'a': None}. Throws Error for anything else.
Json python_value(std::string_view text);
// An argument is read as the schema of its function says.
std::vector<WholeCall> read_tagged_calls(std::string_view text, const TaggedArguments& tags,
                                         const Json& schemas);
// f{a:1,b:<|"|>text<|"|>,c:[true,{d:null}]}
std::vector<WholeCall> read_unquoted_call(std::string_view text);

}  // namespace attend
