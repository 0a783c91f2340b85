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
  std::string_view style;  // XGrammar's name of this form
};

// A call is OPEN value CLOSE. The value is a JSON object with the name and the arguments; or the name, a
// separator and the arguments; or the name and tagged arguments.
// <tool_call>{"name": "f", "arguments": {}}</tool_call>, [TOOL_CALLS]f[ARGS]{}.
struct CallFormat {
  std::string_view open, close = {};  // either may be empty
  std::string_view separator = {};    // between name and arguments; empty: an object has both
  std::string_view name = "name", arguments = "arguments";  // the keys in that object
  bool is_list = false;                                     // all calls are one JSON list
  std::string_view section_open = {}, section_close = {};   // around all calls
  std::string_view fence = {};                              // may come between `open` and the value
  // Calls are numbered from 0: the name is followed by ":0", or the object begins with this key.
  bool has_number = false;
  std::string_view number_key = {};
  const TaggedArguments* tagged = nullptr;
  bool is_bare = false;    // an answer may also begin with the object, without `open`
  bool is_python = false;  // the value may also be Python: f(a=1)
  // Harmony: an answer consists of messages, HEADER<|message|>TEXT<|end|>, and the header says what a text
  // is.
  bool has_headers = false;
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
