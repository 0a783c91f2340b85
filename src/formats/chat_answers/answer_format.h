// How a model writes what is not plain text in an answer: calls of tools, and reasoning.
#pragma once

#include "formats/json/json.h"

#include <string>
#include <string_view>
#include <vector>

namespace attend {

// Calls whose arguments are texts between tags: NAME_OPEN name NAME_CLOSE, then for each argument KEY_OPEN
// key KEY_CLOSE VALUE_OPEN value VALUE_CLOSE, then END.
struct TaggedArguments {
  std::string_view name_open, name_close, key_open, key_close, value_open, value_close, end;
  std::string_view style;  // XGrammar's name of this form; empty: XGrammar does not know it
};

// How the value of a call may be written, apart from JSON.
enum class CallNotation {
  json,
  python,   // f(a=1)
  tagged,   // tags around each argument
  unquoted  // f{a:1,b:<|"|>text<|"|>}
};

// The ids of calls that a template accepts. name_and_number: "functions.f:0".
enum class CallIds { any, nine_letters, name_and_number };

// A call is OPEN value CLOSE. The value is a JSON object with the name and the arguments; or the name, a
// separator and the arguments; or it has another notation.
// <tool_call>{"name": "f", "arguments": {}}</tool_call>, [TOOL_CALLS]f[ARGS]{}.
struct CallFormat {
  std::string_view open, close = {};  // either may be empty
  std::string_view separator = {};    // between name and arguments; empty: an object has both
  // The keys in that object. No key for the name: the object is {"f": {...}}.
  std::string_view name = "name", arguments = "arguments";
  bool is_list = false;                                                       // all calls are one list
  std::string_view list_open = "[", list_close = "]", list_separator = ", ";  // around and in the list
  bool has_lines = true;  // the value is on its own line, unless a separator or a list follows `open`
  std::string_view section_open = {}, section_close = {};  // around all calls
  std::string_view fence = {};                             // may come between `open` and the value
  // Calls are numbered from 0: the name is followed by ":0", or the object begins with this key.
  bool has_number = false;
  std::string_view number_key = {};
  std::string_view id_mark = {};  // may come after the name, with an id of nine letters
  CallIds ids = CallIds::any;
  CallNotation notation = CallNotation::json;
  const TaggedArguments* tagged = nullptr;  // CallNotation::tagged
  bool is_bare = false;                     // an answer may also begin with the object, without `open`
  // Harmony: an answer consists of messages, HEADER<|message|>TEXT<|end|>, and the header says what a text
  // is.
  bool has_headers = false;

  // Whether a grammar can hold the arguments to a JSON schema.
  bool holds_arguments() const;
  // Whether written_calls can write it.
  bool may_be_text() const { return tagged == nullptr && notation != CallNotation::unquoted && !has_headers; }
  // Whether one answer may have several calls.
  bool may_repeat() const;
};

// The text before and after the arguments of a call that is written. A number is kNumber in it.
inline constexpr char kNumber = '\x01';
std::string call_begin(const CallFormat& format, const std::string& name);
std::string call_end(const CallFormat& format);

struct ReasoningMarks {
  std::string_view open = {}, close = {};  // empty: none
};

struct AnswerFormat {
  const CallFormat* calls = nullptr;  // null: the template writes calls in a way that is not known here
  ReasoningMarks reasoning = {};
  std::vector<std::string_view> silent = {};  // marks that belong to no content
  // false: the template does not write tools. Then they are described in a message (written_tools).
  bool knows_tools = true;

  // All texts that an answer is split at. Some are special tokens, which decoding would leave out.
  std::vector<std::string> marks() const;
};

// The format of a model, recognized by the text of its chat template.
AnswerFormat recognize_answers(std::string_view chat_template);

// For templates that do not write tools: a text that describes them and says how to call one.
std::string written_tools(const Json& tools, const CallFormat& format);
// The calls of a message, as its field "tool_calls" has them, as the model would write them.
std::string written_calls(const Json& tool_calls, const CallFormat& format);

}  // namespace attend
