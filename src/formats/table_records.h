// Reads the rows of tables as texts: TSV and CSV. All verbs use this reader, so they have the same rules:
//
// - TSV: a tab ends a field and a line end a row. Quotes have no meaning, as in GLUE's files.
// - CSV (RFC 4180): a comma ends a field; a field in quotes may contain commas, line ends and quotes, which
//   are doubled. If the first line has no comma, the separator is a semicolon, which spreadsheets write in
//   countries with decimal commas; else a tab.
// - A line ends with \n, \r\n or \r. Empty lines are skipped. A byte order mark of UTF-8 is removed; UTF-16
//   is an Error.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace attend {

using Record = std::vector<std::string>;

class RecordReader {
 public:
  enum class Form { tsv, csv };

  // Reads only on demand, so that rows of a pipe are available as soon as they are written. `source` names it
  // in errors.
  RecordReader(std::istream& in, Form form, std::string source);

  // The next row; none at the end. An Error for a quote that is closed before the field's end (the following
  // rows can still be read), and for one that is never closed (the table ends there).
  std::optional<Record> next();
  // The beginning of the last row: "FILE, line 3".
  std::string place() const;
  // Known after the first row.
  char separator() const { return separator_; }
  // Whether a quote was never closed, so that the last rows are unknown.
  bool is_cut_off() const { return cut_off_; }

 private:
  bool read_line();
  void read_first_line();
  bool is_blank() const;
  std::string read_quoted(std::size_t& at);
  Record split() const;
  Record parse();

  std::streambuf& in_;
  Form form_;
  std::string source_;
  char separator_;
  std::string line_, end_;              // the last line, and its line end
  std::size_t number_ = 0, first_ = 0;  // number of lines read; first line of the last row
  bool cut_off_ = false;
};

}  // namespace attend
