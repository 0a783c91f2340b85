// The inputs of `attend run`: arguments, or standard input as lines, JSON or a table.
#pragma once

#include "base/text_lines.h"
#include "cli/run_task.h"
#include "formats/table_records.h"

#include <map>
#include <optional>

namespace attend::cli {

// What standard input holds: texts, JSON (objects with fields, or texts), or tables whose first line names
// their columns, which are fields.
enum class InputFormat { lines, json, csv, tsv };

struct InputOptions {
  std::vector<std::string> texts;
  std::optional<InputFormat> format;           // absent: lines, or JSON where a text is not enough
  std::map<std::string, std::string> columns;  // of a table: where a field is not in the column of its name
};

class InputReader {
 public:
  InputReader(const InputOptions& options, const Task& task);
  // The next inputs, some hundreds of them; one line at a time where a person types them. Empty: no more.
  std::vector<Fields> next();
  std::size_t total() const { return given_.size(); }  // 0: not known

 private:
  // Of standard input: one, or nothing at its end.
  std::optional<Fields> read_line();
  std::optional<Fields> read_record();
  void read_header();

  const Task& task_;
  InputFormat format_;
  std::map<std::string, std::string> columns_;
  StreamLines lines_;
  std::optional<RecordReader> table_;
  std::vector<std::string> header_;  // of the table; a column that is not asked for may have any name
  bool standard_input_;
  std::vector<Fields> given_;
  std::size_t at_ = 0;  // of given_
};

}  // namespace attend::cli
