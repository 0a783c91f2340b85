#include "data/lines.h"

#include "base/error.h"
#include "base/text_lines.h"
#include "base/utf8.h"

namespace attend {

void check_utf8(std::string_view text, const std::string& place) {
  if (const auto at = find_invalid_utf8(text)) fail("{}: invalid UTF-8 at byte {}", place, *at);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

std::string name_of_files(const std::vector<std::string>& files) {
  if (files.empty()) fail("expected at least one file");
  return files.size() == 1 ? files.front() : fmt::format("{} and {} more", files.front(), files.size() - 1);
}

}  // namespace attend
