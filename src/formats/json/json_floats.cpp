#include "formats/json/json_floats.h"

namespace attend {
namespace {

constexpr std::size_t kShort = 15;  // characters; numbers up to this length stay unchanged

// Appends the number text[begin, end), rewritten if that is shorter.
void append_number(std::string& to, const std::string& text, std::size_t begin, std::size_t end) {
  const char *const first = text.data() + begin, *const last = text.data() + end;
  double value = 0;
  if (end - begin > kShort && std::from_chars(first, last, value).ptr == last) {
    char shorter[32];
    const char* const stop = std::to_chars(shorter, shorter + sizeof shorter, value).ptr;
    if (stop - shorter < last - first) {
      to.append(shorter, static_cast<std::size_t>(stop - shorter));
      return;
    }
  }
  to.append(first, last);
}

}  // namespace

std::string shortest_line(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text[i] == '"') {
      while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      result.append(text, i, ++end - i);
    } else if (text[i] == '-' || (text[i] >= '0' && text[i] <= '9')) {
      bool whole = true;  // an integer stays unchanged: a double cannot represent all of them
      for (;
           end < text.size() && std::string_view("+-.eE0123456789").find(text[end]) != std::string_view::npos;
           ++end)
        whole = whole && text[end] >= '0' && text[end] <= '9';
      if (whole)
        result.append(text, i, end - i);
      else
        append_number(result, text, i, end);
    } else {
      result += text[i];
    }
    i = end;
  }
  return result;
}

}  // namespace attend
