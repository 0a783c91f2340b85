#include "data/table.h"

#include "data/bad_rows.h"
#include "data/json_lines.h"
#include "data/lines.h"
#include "data/table_columns.h"
#include "data/table_header.h"
#include "data/table_summary.h"

#include <algorithm>
#include <istream>
#include <map>
#include <streambuf>
#include <utility>

#include <fmt/ranges.h>

namespace attend {
namespace {

// A text as a stream, without a copy of it.
class TextStream : private std::streambuf, public std::istream {
 public:
  explicit TextStream(std::string_view text) : std::istream(static_cast<std::streambuf*>(this)) {
    char* const begin = const_cast<char*>(text.data());  // read-only use
    setg(begin, begin, begin + text.size());
  }
};

RecordReader::Form form_of(TableFormat format) {
  return format == TableFormat::csv ? RecordReader::Form::csv : RecordReader::Form::tsv;
}

// The first rows, from which the header is detected.
std::vector<Record> first_records(std::string_view text, const std::string& file, TableFormat format) {
  constexpr std::size_t max_rows = 10000;
  TextStream stream(text);
  RecordReader reader(stream, form_of(format), file);
  std::vector<Record> rows;
  while (rows.size() < max_rows && !reader.is_cut_off()) {
    try {
      std::optional<Record> record = reader.next();
      if (!record) break;
      rows.push_back(std::move(*record));
    } catch (const Error&) {  // a bad row, or a file without a table: reported when it is read
      if (rows.empty()) throw;
    }
  }
  return rows;
}

// The number of columns that most rows have.
std::size_t usual_width(const std::vector<Record>& rows) {
  std::map<std::size_t, std::size_t> widths;
  for (const Record& row : rows) ++widths[row.size()];
  return std::ranges::max_element(widths, {}, [](const auto& width) { return width.second; })->first;
}

// 0 and 1 as JSON numbers; none for other numbers and texts.
std::optional<int> flag_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number()) {
    if (value == 0 || value == 1) return value == 1 ? 1 : 0;
  } else if (value.is_string()) {
    const std::string_view cell = trimmed(value.get_ref<const std::string&>());
    if (cell == "0" || cell == "0.0") return 0;
    if (cell == "1" || cell == "1.0") return 1;
  }
  return {};
}

// The fields of a row that have roles. `value` is the cell or field of a column.
Fields with_roles(const ColumnPlaces& places, const std::string& place,
                  const std::function<Json(std::size_t column)>& value) {
  Json fields = Json::object();
  for (const auto& [role, column] : places.roles) fields[role] = value(column);
  for (const auto& [label, column] : places.labels) {
    const Json cell = value(column);
    const auto flag = flag_of(cell);
    if (!flag) fail("{}: {}: expected 0 or 1, found {}", place, label, shown(cell));
    fields["labels"][label] = *flag;
  }
  return Fields(std::move(fields), place);
}

std::string say_columns(const ColumnPlaces& places) {
  return places.min == places.max ? std::to_string(places.min) : fmt::format("at least {}", places.min);
}

// As parse_columns reads it.
std::string columns_text(const ColumnPlaces& places) {
  std::vector<std::string> parts;
  for (const auto& [role, column] : places.roles)
    parts.push_back(fmt::format("`column` {}={}", role, column + 1));
  return fmt::format("{}", fmt::join(parts, " "));
}

using Take = std::function<void(const Fields&)>;

// The settings that apply to every file.
struct TableReading {
  const TableOptions& options;
  const Columns& columns;
  const TableLayout& layout;
  BadRows& bad;
  const Take& take;
};

// The places of a table with a header. If a header was only guessed, they say so, because the guess may be
// wrong.
ColumnPlaces places_under(const std::vector<Record>& rows, const std::string& place, TableHeader header,
                          const TableReading& reading) {
  const auto has_flags = [&](std::size_t column) {
    return rows.size() > 1 && std::all_of(rows.begin() + 1, rows.end(), [&](const Record& row) {
             return row.size() != rows.front().size() || flag_of(row[column]).has_value();
           });
  };
  try {
    return places_by_name({rows.front(), place, true, has_flags}, reading.columns, reading.layout);
  } catch (const Error& error) {
    if (header != TableHeader::guessed) throw;
    fail("{} (if this line is a row and not a header: `header` false)", error.what());
  }
}

void read_records(const std::string& file, TableFormat format, const TableReading& reading) {
  const TextFile whole(file);
  const std::vector<Record> rows = first_records(whole.text(), file, format);
  if (rows.empty()) return;
  TextStream stream(whole.text());
  RecordReader reader(stream, form_of(format), file);
  TableSummary summary(file);
  const TableHeader header = find_header(rows, reading.options, reading.columns, format, reading.layout);
  ColumnPlaces places;
  if (header == TableHeader::no) {
    places = places_by_order(usual_width(rows), reading.columns, reading.layout, file);
    reading.bad.advise(
        fmt::format("the columns were taken as {}; if they are others, say which is which (`column`)",
                    columns_text(places)));
  } else {
    reader.next();
    places = places_under(rows, reader.place(), header, reading);
  }
  summary.describe(places, header == TableHeader::no ? Record() : rows.front(), header, reader.separator());
  for (;;) {
    std::optional<Record> record;
    try {
      record = reader.next();
    } catch (const Error& error) {
      if (reader.is_cut_off()) throw;
      reading.bad.add(error.what());
      continue;
    }
    if (!record) break;
    reading.bad.read([&] {
      if (record->size() < places.min || record->size() > places.max)
        fail("{}: expected {} columns, found {}", reader.place(), say_columns(places), record->size());
      const Fields row = with_roles(places, reader.place(), [&](std::size_t column) {
        check_utf8((*record)[column], reader.place());
        return Json((*record)[column]);
      });
      reading.take(row);
      summary.add(row);
    });
  }
  summary.report();
}

void read_objects(const std::string& file, const TableReading& reading) {
  TableSummary summary(file);
  std::vector<std::string> known;  // the names of the last object; most objects have the same
  ColumnPlaces places;
  read_json_lines(file, reading.bad, [&](Json value, const std::string& place) {
    if (!value.is_object()) fail("{}: expected an object, found {}", place, shown(value));
    std::vector<std::string> names;
    for (const auto& [name, field] : value.items())
      if (!field.is_null()) names.push_back(name);
    if (names != known || places.roles.empty()) {
      const auto has_flags = [&](std::size_t column) { return flag_of(value[names[column]]).has_value(); };
      places = places_by_name({names, place, false, has_flags}, reading.columns, reading.layout);
      known = names;
      summary.describe_fields(places, names);
    }
    const Fields row =
        with_roles(places, place, [&](std::size_t column) { return std::move(value[names[column]]); });
    reading.take(row);
    summary.add(row);
  });
  summary.report();
}

}  // namespace

TableFormat parse_table_format(std::string_view name) {
  if (name == "tsv") return TableFormat::tsv;
  if (name == "csv") return TableFormat::csv;
  if (name == "jsonl" || name == "json") return TableFormat::json_lines;
  fail("format: expected tsv, csv or jsonl, found '{}'", name);
}

TableFormat table_format_of(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  if (ending == ".tsv" || ending == ".txt" || ending == ".tab") return TableFormat::tsv;
  if (ending == ".csv") return TableFormat::csv;
  if (ending == ".jsonl" || ending == ".json" || ending == ".ndjson") return TableFormat::json_lines;
  fail("{}: expected a file that ends in .tsv, .txt, .csv, .jsonl or .json; say its format otherwise", file);
}

void read_table(const std::vector<std::string>& files, const TableOptions& options, const TableLayout& layout,
                const Take& take) {
  BadRows bad(name_of_files(files), layout.expected);
  const Columns columns = columns_for(options.columns, layout);
  const TableReading reading{options, columns, layout, bad, take};
  for (const std::string& file : files) {
    const TableFormat format = options.format ? *options.format : table_format_of(file);
    if (format == TableFormat::json_lines)
      read_objects(file, reading);
    else
      read_records(file, format, reading);
  }
  bad.report();
}

}  // namespace attend
