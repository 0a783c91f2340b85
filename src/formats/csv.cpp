#include "formats/csv.h"

#include "base/error.h"

#include <utility>

namespace attend {
namespace {

constexpr int kEnd = std::istream::traits_type::eof();

}  // namespace

CsvReader::CsvReader(std::istream& in, char separator, std::string source)
    : in_(in), separator_(separator), source_(std::move(source)) {
  // The mark that Excel puts in front of UTF-8.
  for (const char byte : {'\xEF', '\xBB', '\xBF'})
    if (in_.peek() != static_cast<unsigned char>(byte))
      break;
    else
      in_.get();
}

std::string CsvReader::place() const {
  return source_ + ", line " + std::to_string(first_line_);
}

// The next byte; a line break of two is one.
int CsvReader::get() {
  int byte = in_.get();
  if (byte == '\r' && in_.peek() == '\n') byte = in_.get();
  if (byte == '\n') ++line_;
  return byte;
}

std::string CsvReader::read_quoted() {
  std::string field;
  for (;;) {
    const int byte = in_.get();
    if (byte == kEnd) fail("{}: a quote is never closed", place());
    if (byte == '\n') ++line_;
    if (byte != '"')
      field += static_cast<char>(byte);
    else if (in_.peek() == '"')
      field += static_cast<char>(in_.get());
    else
      return field;
  }
}

std::string CsvReader::read_field(bool& more) {
  std::string field;
  const bool quoted = in_.peek() == '"';
  if (quoted) {
    in_.get();
    field = read_quoted();
  }
  for (;;) {
    const int byte = get();
    more = byte == separator_;
    if (more || byte == '\n' || byte == kEnd) return field;
    if (quoted)
      fail(
          "{}: expected the end of a field behind its closing quote, found '{}'; a quote within a field is "
          "written twice",
          place(), static_cast<char>(byte));
    field += static_cast<char>(byte);
  }
}

std::optional<std::vector<std::string>> CsvReader::next() {
  while (in_.peek() == '\n' || in_.peek() == '\r') get();
  first_line_ = line_;
  if (in_.peek() == kEnd) return {};
  std::vector<std::string> record;
  for (bool more = true; more;) record.push_back(read_field(more));
  return record;
}

}  // namespace attend
