#include "formats/table_records.h"

#include "base/error.h"
#include "base/text_lines.h"

#include <algorithm>
#include <utility>

namespace attend {
namespace {

constexpr int kEndOfStream = std::streambuf::traits_type::eof();

// The separator of a CSV file, from its first line. Separators in quotes do not count.
char csv_separator(std::string_view line) {
  std::size_t semicolons = 0, tabs = 0;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == ',') return ',';
    semicolons += c == ';';
    tabs += c == '\t';
  }
  return semicolons > 0 ? ';' : tabs > 0 ? '\t' : ',';
}

}  // namespace

RecordReader::RecordReader(std::istream& in, Form form, std::string source)
    : in_(*in.rdbuf()), form_(form), source_(std::move(source)), separator_(form == Form::tsv ? '\t' : ',') {}

std::string RecordReader::place() const {
  return fmt::format("{}, line {}", source_, first_);
}

bool RecordReader::read_line() {
  line_.clear();
  end_.clear();
  for (int byte = in_.sbumpc(); byte != kEndOfStream; byte = in_.sbumpc()) {
    const char c = std::streambuf::traits_type::to_char_type(byte);
    if (c == '\n' || c == '\r') {
      end_ = c;
      if (c == '\r' && in_.sgetc() == '\n') end_ += static_cast<char>(in_.sbumpc());
      break;
    }
    line_ += c;
  }
  if (line_.empty() && end_.empty()) return false;
  if (++number_ == 1) read_first_line();
  return true;
}

void RecordReader::read_first_line() {
  line_.erase(0, line_.size() - without_byte_order_mark(line_, source_).size());
  if (line_.find('\0') != line_.npos)
    fail("{}: expected UTF-8, found zero bytes as in UTF-16; `iconv -f UTF-16 -t UTF-8` converts it",
         source_);
  if (form_ == Form::csv) separator_ = csv_separator(line_);
}

bool RecordReader::is_blank() const {
  return form_ == Form::csv ? line_.empty() : line_.find_first_not_of(" \t\f\v") == line_.npos;
}

std::optional<Record> RecordReader::next() {
  do
    if (!read_line()) return {};
  while (is_blank());
  first_ = number_;
  return form_ == Form::csv ? parse() : split();
}

Record RecordReader::split() const {
  Record record;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line_.find(separator_, begin);
    record.push_back(line_.substr(begin, end - begin));
    if (end == line_.npos) return record;
    begin = end + 1;
  }
}

// Reads the field that begins at `at`, after its first quote; afterwards `at` is after its last quote.
std::string RecordReader::read_quoted(std::size_t& at) {
  std::string field;
  for (;;) {
    const std::size_t quote = line_.find('"', at);
    field.append(line_, at, quote - at);
    if (quote == line_.npos) {
      field += end_;
      at = 0;
      if (read_line()) continue;
      cut_off_ = true;
      fail("{}: a quote is never closed", place());
    }
    at = quote + 1;
    if (line_[at] != '"') return field;
    field += '"';
    ++at;
  }
}

Record RecordReader::parse() {
  Record record;
  for (std::size_t at = 0;;) {
    if (line_[at] == '"') {
      record.push_back(read_quoted(++at));
      if (at < line_.size() && line_[at] != separator_)
        fail(
            "{}: expected the end of a field after its closing quote, found '{}'; a quote within a field is "
            "written twice",
            place(), line_.substr(at, 1));
    } else {
      const std::size_t end = std::min(line_.find(separator_, at), line_.size());
      record.push_back(line_.substr(at, end - at));
      at = end;
    }
    if (at == line_.size()) return record;
    ++at;
  }
}

}  // namespace attend
