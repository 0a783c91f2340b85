// Gemma 4's calls: keys have no quotes, and texts stand between <|"|>.
#include "base/error.h"
#include "base/python_text.h"
#include "formats/chat_answers/answer_parser.h"

namespace attend {
namespace {

constexpr std::string_view kQuote = "<|\"|>";

class UnquotedReader {
 public:
  explicit UnquotedReader(std::string_view text) : rest_(text) {}

  Json value(int depth = 0) {
    constexpr int kMaxDepth = 100;
    if (depth > kMaxDepth) fail("a call is nested more than {} levels deep", kMaxDepth);
    if (take(kQuote)) return quoted();
    if (take("{")) return object(depth);
    if (take("[")) return list(depth);
    return plain();
  }
  bool at_end() {
    skip_space();
    return rest_.empty();
  }

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t\r"), rest_.size())); }
  bool take(std::string_view mark) {
    skip_space();
    if (!rest_.starts_with(mark)) return false;
    rest_.remove_prefix(mark.size());
    return true;
  }
  // Up to one of these characters, which stays.
  std::string_view until(std::string_view characters) {
    const std::size_t end = rest_.find_first_of(characters);
    if (end == rest_.npos) fail("a call: expected one of {}, found its end", characters);
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return strip(text);
  }
  Json quoted() {
    const std::size_t end = rest_.find(kQuote);
    if (end == rest_.npos) fail("a call: expected {} at the end of a text, found none", kQuote);
    Json text = std::string(rest_.substr(0, end));
    rest_.remove_prefix(end + kQuote.size());
    return text;
  }
  Json object(int depth) {
    Json object = Json::object();
    while (!take("}")) {
      const std::string key = take(kQuote) ? quoted().get<std::string>() : std::string(until(":"));
      if (!take(":")) fail("a call: expected ':' after {}", key);
      object[key] = value(depth + 1);
      if (!take(",") && !rest_.starts_with('}')) fail("a call: expected ',' or '}}' after {}", key);
    }
    return object;
  }
  Json list(int depth) {
    Json list = Json::array();
    while (!take("]")) {
      list.push_back(value(depth + 1));
      if (!take(",") && !rest_.starts_with(']')) fail("a call: expected ',' or ']' in a list");
    }
    return list;
  }
  // A number, true, false or null; the template writes None.
  Json plain() {
    const std::string_view text = until(",]}");
    if (text == "None") return nullptr;
    try {
      return parse_json(std::string(text), "a call");
    } catch (const Error&) {
      return std::string(text);
    }
  }

  std::string_view rest_;
};

}  // namespace

std::vector<WholeCall> read_unquoted_call(std::string_view text) {
  const std::size_t open = text.find('{');
  if (open == text.npos) return {};
  const std::string_view name = strip(text.substr(0, open));
  if (name.empty() || name.find_first_of("<>\" \n:") != name.npos) return {};
  try {
    UnquotedReader reader(text.substr(open));
    const Json arguments = reader.value();
    if (!arguments.is_object() || !reader.at_end()) return {};
    return {{std::string(name), arguments.dump()}};
  } catch (const Error&) {
    return {};
  }
}

std::vector<WholeCall> read_whole_calls(std::string_view text, const CallFormat& format,
                                        const Json& schemas) {
  switch (format.notation) {
    case CallNotation::tagged:
      return read_tagged_calls(text, *format.tagged, schemas);
    case CallNotation::python:
      return read_python_calls(text);
    case CallNotation::unquoted:
      return read_unquoted_call(text);
    case CallNotation::json:
      break;
  }
  return {};
}

}  // namespace attend
