// Text in UTF-8, line by line: from files and from streams.
#pragma once

#include "base/file.h"

#include <cstddef>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace attend {

// `text` without the byte order mark that some editors write before UTF-8. Error if it begins with the mark
// of UTF-16 or UTF-32, which nothing here reads; `source` names the text.
std::string_view without_byte_order_mark(std::string_view text, const std::string& source);

// The text of a file, without a byte order mark. Regular files are mapped, so they may be larger than memory;
// others (a pipe) are read.
class TextFile {
 public:
  explicit TextFile(const std::string& path);
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  std::string_view text() const { return text_; }
  // Reports how far the text has been read, so that memory can be freed from time to time. All of it stays
  // readable.
  void have_read(std::size_t position);

 private:
  std::size_t given_back_ = 0;
  std::optional<MappedFile> mapped_;
  std::string read_;
  std::string_view text_;
};

class LineReader {
 public:
  // `path` names the text in messages.
  LineReader(std::string_view text, std::string path) : text_(text), path_(std::move(path)) {}

  // The next line without its end (\n or \r\n); nothing at the end.
  std::optional<std::string_view> next();
  std::string place() const;                    // of the last line: "FILE, line 3"
  std::size_t position() const { return at_; }  // in bytes, after the last line

 private:
  std::string_view text_;
  std::string path_;
  std::size_t at_ = 0, line_ = 0;
};

// The same for a stream, such as standard input: a line is available as soon as it has arrived. A byte order
// mark before the first line is left out.
class StreamLines {
 public:
  // `source` names the stream in messages.
  StreamLines(std::istream& in, std::string source) : in_(in), source_(std::move(source)) {}

  std::optional<std::string> next();
  std::string place() const;  // of the last line: "standard input, line 3"
  std::size_t number() const { return line_; }

 private:
  std::istream& in_;
  std::string source_;
  std::size_t line_ = 0;
};

}  // namespace attend
