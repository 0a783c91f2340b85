// The inputs of `attend run`: arguments, or standard input as lines, JSON or a table.
#pragma once

#include "base/text_lines.h"
#include "formats/table_records.h"
#include "pipelines/pipeline.h"

#include <exception>
#include <map>
#include <optional>

namespace attend::cli {

// The format of standard input: texts, JSON (objects with fields, or texts), or tables whose first line has
// the names of the fields.
enum class InputFormat { lines, json, csv, tsv };

struct InputOptions {
  std::vector<std::string> texts;
  std::optional<InputFormat> format;           // absent: lines, or JSON if the task needs more than a text
  std::map<std::string, std::string> columns;  // of a table: the columns of fields, if their names differ
};

// An input: its fields, or its error. `place` names it: "standard input, line 3".
struct RunInput {
  std::string place;
  std::optional<Fields> fields;
  std::optional<std::int64_t> adapter = {};  // from its field "adapter"
  std::string error = {};                    // includes the place
};

class InputReader {
 public:
  // `input` and `task` must outlive the reader. Throws Error for incompatible options.
  InputReader(const InputOptions& options, const Pipeline& task);
  // The next inputs, some hundred at a time; one line at a time from a terminal. Empty: no more. If standard
  // input cannot be read further, throws Error after the earlier inputs.
  std::vector<RunInput> next();
  std::size_t total() const { return given_.size(); }  // 0: unknown

 private:
  // From standard input: one input, or none at its end.
  std::optional<RunInput> read_line();
  std::optional<RunInput> read_record();
  void read_header();
  RunInput read(std::string place, const std::function<Json()>& parse) const;

  const Pipeline& task_;
  InputFormat format_;
  std::map<std::string, std::string> columns_;
  StreamLines lines_;
  std::optional<RecordReader> table_;
  std::vector<std::string> header_;  // of the table: fields; empty for an unused column
  bool standard_input_;
  std::vector<RunInput> given_;
  std::size_t at_ = 0;         // position in given_
  std::exception_ptr failed_;  // the error of reading further
};

}  // namespace attend::cli
