// The rows of tables as texts: TSV and CSV. One reader for every verb, so one set of rules:
//
// - TSV: a tab ends a field and a line end a row. Quotes mean nothing, as in GLUE's files.
// - CSV (RFC 4180): a comma ends a field; a field in quotes may hold commas, line ends and quotes, which are
//   doubled. Where the first line has no comma, a semicolon is taken in its place, as spreadsheets write in
//   countries whose numbers have commas; else a tab.
// - A line ends with \n, \r\n or \r. Lines without text are passed over. A byte order mark of UTF-8 is left
//   out; UTF-16 is an Error.
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

  // Reads as it is asked, so that a pipe's rows come as they are written. `source` names it in errors.
  RecordReader(std::istream& in, Form form, std::string source);

  // The next row; nothing at the end. Error for a quote that is closed before the field's end, after which
  // the rows that follow can be read; and for one that is never closed, where the table ends.
  std::optional<Record> next();
  // Where the last row begins: "FILE, line 3".
  std::string place() const;
  // Known after the first row.
  char separator() const { return separator_; }
  // A quote was never closed, so that the last rows cannot be told apart.
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
  std::string line_, end_;              // the last line, and what ended it
  std::size_t number_ = 0, first_ = 0;  // the lines that were read; where the last row begins
  bool cut_off_ = false;
};

}  // namespace attend
