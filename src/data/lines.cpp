#include "data/lines.h"

#include "base/error.h"
#include "base/text_lines.h"
#include "base/utf8.h"

namespace attend {

TextFile::TextFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) {
    mapped_.emplace(path);
    text_ = {reinterpret_cast<const char*>(mapped_->bytes().data()), mapped_->bytes().size()};
  } else {
    text_ = read_ = read_file(path);
  }
  text_ = without_byte_order_mark(text_, path);
}

void TextFile::have_read(std::size_t position) {
  constexpr std::size_t kOften = std::size_t{1} << 26;
  if (!mapped_ || position < given_back_ + kOften) return;
  mapped_->drop_pages();
  given_back_ = position;
}

std::optional<std::string_view> LineReader::next() {
  const std::string_view rest = text_.substr(at_);
  if (rest.empty()) return {};
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  at_ += end == rest.npos ? rest.size() : end + 1;
  ++line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string LineReader::place() const {
  return fmt::format("{}, line {}", path_, line_);
}

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
