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

}  // namespace

std::vector<WholeCall> read_python_call(std::string_view text) {
  text = trimmed_call(text);
  if (text.starts_with("print(") && text.ends_with(')')) text = trimmed_call(text.substr(6, text.size() - 7));
  const std::size_t open = text.find('(');
  if (open == text.npos || open == 0 || !text.ends_with(')')) return {};
  std::string_view name = text.substr(0, open);
  if (name.ends_with(".call")) name.remove_suffix(5);
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-') return {};
  // Jinja's expressions are Python's; the evaluator limits what they may do.
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  try {
    std::string arguments =
        JinjaTemplate(fmt::format("{{{{ dict({}) | tojson }}}}", inside), "a call").render({});
    if (!parse_json(arguments, "a call").is_object()) return {};
    return {{std::string(name), std::move(arguments)}};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace attend
