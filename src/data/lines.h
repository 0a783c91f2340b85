// Text files line by line.
#pragma once

#include "base/file.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend {

// The text of a file: mapped, so that it may be larger than memory; what cannot be (a pipe) is read.
class TextFile {
 public:
  explicit TextFile(const std::string& path);
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  // Without the mark that some editors put in front of UTF-8.
  std::string_view text() const { return text_; }
  // Says how far the text has been read, so that memory can be given back now and then. All of it stays
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
  std::size_t position() const { return at_; }  // in bytes, behind the last line

 private:
  std::string_view text_;
  std::string path_;
  std::size_t at_ = 0, line_ = 0;
};

// Error, beginning with the place, if the text is not valid UTF-8.
void check_utf8(std::string_view text, const std::string& place);
// Without spaces, tabs and line ends on both sides.
std::string_view trimmed(std::string_view text);
// "a.tsv", or "a.tsv and 3 more": for messages.
std::string name_of_files(const std::vector<std::string>& files);

}  // namespace attend
