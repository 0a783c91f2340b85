#include "base/error.h"
#include "formats/chat_answers/answer_parser.h"
#include "formats/jinja/jinja.h"

namespace attend {
namespace {

std::string_view trimmed_call(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \n\t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \n\t\r;") + 1 - first);
}

// Jinja's expressions are Python's; the evaluator limits what they may do. Models also write JSON's null.
std::string json_of(std::string_view expression) {
  return JinjaTemplate(fmt::format("{{{{ {} | tojson }}}}", expression), "a call")
      .render({{"null", nullptr}});
}

// The parts between commas that are in no brackets and quotes.
std::vector<std::string_view> split_calls(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// An empty name: it is not a call.
WholeCall read_call(std::string_view text) {
  text = trimmed_call(text);
  if (text.starts_with("print(") && text.ends_with(')')) text = trimmed_call(text.substr(6, text.size() - 7));
  const std::size_t open = text.find('(');
  if (open == text.npos || open == 0 || !text.ends_with(')')) return {};
  std::string_view name = text.substr(0, open);
  if (name.ends_with(".call")) name.remove_suffix(5);
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-') return {};
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  try {
    std::string arguments = json_of(fmt::format("dict({})", inside));
    if (!parse_json(arguments, "a call").is_object()) return {};
    return {std::string(name), std::move(arguments)};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Json python_value(std::string_view text) {
  return parse_json(json_of(fmt::format("({})", text)), "a value");
}

std::vector<WholeCall> read_python_calls(std::string_view text) {
  text = trimmed_call(text);
  const bool is_list = text.starts_with('[') && text.ends_with(']') && text.size() > 1;
  if (is_list) text = text.substr(1, text.size() - 2);
  std::vector<WholeCall> calls;
  for (const std::string_view part : is_list ? split_calls(text) : std::vector{text}) {
    calls.push_back(read_call(part));
    if (calls.back().name.empty()) return {};
  }
  return calls;
}

}  // namespace attend
