#include "formats/chat_answers/call_reader.h"

#include "base/error.h"
#include "formats/json/json.h"

#include <algorithm>

namespace attend {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

// A JSON string; anything else gives nothing.
std::string unquoted(const std::string& text) {
  try {
    const Json value = parse_json(text, "a call");
    return value.is_string() ? value.get<std::string>() : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

void append(std::vector<ToolCallPiece>& pieces, ToolCallPiece more) {
  if (pieces.empty() || pieces.back().index != more.index) return pieces.push_back(std::move(more));
  pieces.back().name += more.name;
  pieces.back().arguments += more.arguments;
}

CallReader::CallReader(std::size_t index, std::string name)
    : index_(index), alone_(true), part_(Part::arguments), name_(std::move(name)) {}

std::size_t CallReader::put(std::string_view text, std::vector<ToolCallPiece>& pieces) {
  std::size_t read = 0;
  while (read < text.size() && state_ == State::reading) {
    feed(text[read], pieces);
    if (state_ != State::failed) ++read;
  }
  return read;
}

void CallReader::feed(char c, std::vector<ToolCallPiece>& pieces) {
  if (quoted_) {
    keep(c, pieces);
    if (escaped_)
      escaped_ = false;
    else if (c == '\\')
      escaped_ = true;
    else if (c == '"')
      quoted_ = false;
    return;
  }
  if (depth_ == object_depth_ && depth_ > 0)
    feed_object(c, pieces);
  else if (depth_ > object_depth_ && object_depth_ + (alone_ ? 1 : 0) > 0)
    feed_value(c, pieces);
  else
    feed_outside(c, pieces);
}

// Before the value, between the calls of a list, and after the list.
void CallReader::feed_outside(char c, std::vector<ToolCallPiece>& pieces) {
  if (is_space(c) || (is_list_ && c == ',')) return;
  if (alone_ && c == '{') {
    streams_ = true;
    ++depth_;
    give("{", pieces);
  } else if (c == '{') {
    begin_object();
  } else if (c == '[' && !alone_ && depth_ == 0) {
    is_list_ = true;
    depth_ = 1;
  } else if (c == ']' && is_list_) {
    state_ = State::ended;
  } else {
    state_ = State::failed;
  }
}

void CallReader::begin_object() {
  object_depth_ = ++depth_;
  part_ = Part::nothing;
  text_.clear();
  begun_ = has_arguments_ = false;
  name_.clear();
  pending_.clear();
}

// Between the keys and values of a call.
void CallReader::feed_object(char c, std::vector<ToolCallPiece>& pieces) {
  const bool in_value = part_ == Part::name || part_ == Part::arguments || part_ == Part::other;
  if (c == '}') {
    if (in_value) end_value(pieces);
    return end_object(pieces);
  }
  if (c == ',' && in_value) return end_value(pieces);
  if (c == ':' && part_ == Part::key) return begin_value();
  if (is_space(c) && !in_value) return;
  if (c == '"' && part_ == Part::nothing) {
    part_ = Part::key;
    quoted_ = true;
    text_ = c;
    return;
  }
  if (!in_value) {
    state_ = State::failed;
    return;
  }
  if (c == '"') quoted_ = true;
  if (c == '{' || c == '[') ++depth_;
  keep(c, pieces);
}

void CallReader::begin_value() {
  const std::string key = unquoted(text_);
  if (names_are_keys_) name_ = key;
  const bool is_arguments = names_are_keys_ || key == "arguments" || key == "parameters";
  part_ = key == "name" || key == "tool_name" ? Part::name : is_arguments ? Part::arguments : Part::other;
  // An object that merely is an answer in JSON shows it by its first key.
  constexpr std::string_view kOthers[] = {"type", "id", "function", "index", "tool_call_id"};
  if (!names_.empty() && part_ == Part::other && std::ranges::find(kOthers, key) == std::end(kOthers))
    state_ = State::failed;
  text_.clear();
  space_.clear();
  streams_ = false;
}

// Within a value that is an object or a list.
void CallReader::feed_value(char c, std::vector<ToolCallPiece>& pieces) {
  if (c == '"') quoted_ = true;
  if (c == '{' || c == '[') ++depth_;
  if (c == '}' || c == ']') --depth_;
  keep(c, pieces);
  if (!alone_ || depth_ > 0) return;
  state_ = State::ended;
  begun_any_ = true;
  ++index_;
}

void CallReader::keep(char c, std::vector<ToolCallPiece>& pieces) {
  if (part_ != Part::arguments) {
    text_ += c;
    return;
  }
  if (!quoted_ && is_space(c)) {
    if (streams_ || !text_.empty()) space_ += c;
    return;
  }
  // An object is handed out at once. Anything else may be null, or the arguments as a string in JSON.
  if (!streams_ && text_.empty() && c == '{') streams_ = true;
  const std::string more = std::exchange(space_, {}) + c;
  if (streams_)
    give(more, pieces);
  else
    text_ += more;
}

void CallReader::end_value(std::vector<ToolCallPiece>& pieces) {
  if (part_ == Part::name) {
    name_ = unquoted(text_);
    if (name_.empty() || (!names_.empty() && std::ranges::find(names_, name_) == names_.end())) {
      if (!begun_) state_ = State::failed;
    } else {
      give(std::exchange(pending_, {}), pieces);
    }
  } else if (part_ == Part::arguments && !streams_) {
    if (const std::string inner = unquoted(text_); !inner.empty()) give(inner, pieces);
  }
  part_ = Part::nothing;
}

void CallReader::end_object(std::vector<ToolCallPiece>& pieces) {
  if (state_ == State::failed) return;
  if (name_.empty()) {
    state_ = State::failed;
    return;
  }
  if (!has_arguments_) give("{}", pieces);
  --depth_;
  object_depth_ = 0;
  begun_any_ = true;
  begun_ = false;
  ++index_;
  if (!is_list_) state_ = State::ended;
}

// Arguments wait for the name.
void CallReader::give(std::string arguments, std::vector<ToolCallPiece>& pieces) {
  if (!arguments.empty()) has_arguments_ = true;
  if (name_.empty()) {
    pending_ += arguments;
    return;
  }
  append(pieces, {index_, begun_ ? "" : name_, std::move(arguments)});
  begun_ = true;
}

}  // namespace attend
