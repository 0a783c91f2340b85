#include "base/text_lines.h"

#include "base/error.h"

#include <fmt/format.h>

namespace attend {
namespace {

struct Mark {
  std::string_view bytes;
  const char* encoding;
};

// UTF-32's before UTF-16's: the little one begins with the other.
constexpr Mark kOtherMarks[] = {{{"\xFF\xFE\0\0", 4}, "UTF-32"},
                                {{"\0\0\xFE\xFF", 4}, "UTF-32"},
                                {{"\xFF\xFE", 2}, "UTF-16"},
                                {{"\xFE\xFF", 2}, "UTF-16"}};

std::string place_of(const std::string& source, std::size_t line) {
  return fmt::format("{}, line {}", source, line);
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text, const std::string& source) {
  for (const Mark& mark : kOtherMarks)
    if (text.starts_with(mark.bytes))
      fail("{}: expected UTF-8, found {}; `iconv -f {} -t UTF-8` converts it", source, mark.encoding,
           mark.encoding);
  constexpr std::string_view utf8 = "\xEF\xBB\xBF";
  if (text.starts_with(utf8)) text.remove_prefix(utf8.size());
  return text;
}

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
  constexpr std::size_t often = std::size_t{1} << 26;
  if (!mapped_ || position < given_back_ + often) return;
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
  return place_of(path_, line_);
}

std::optional<std::string> StreamLines::next() {
  std::string line;
  if (!std::getline(in_, line)) return {};
  if (++line_ == 1) {
    const std::size_t mark = line.size() - without_byte_order_mark(line, source_).size();
    line.erase(0, mark);
  }
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

std::string StreamLines::place() const {
  return place_of(source_, line_);
}

}  // namespace attend
