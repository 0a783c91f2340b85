// Comma-separated values (RFC 4180), or values with tabs between them: fields in quotes may hold separators,
// line breaks and quotes, which are doubled.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace attend {

class CsvReader {
 public:
  // Reads as it is asked, so that a pipe's records come as they are written. `source` names it in errors.
  CsvReader(std::istream& in, char separator, std::string source);

  // The next record; nothing at the end. Blank lines are passed over. Error for a quote that is never closed,
  // or is closed before the field's end.
  std::optional<std::vector<std::string>> next();
  // Where the last record begins: "FILE, line 3".
  std::string place() const;

 private:
  int get();
  std::string read_quoted();
  // A field, and whether another one follows.
  std::string read_field(bool& more);

  std::istream& in_;
  char separator_;
  std::string source_;
  std::size_t line_ = 1, first_line_ = 1;
};

}  // namespace attend
