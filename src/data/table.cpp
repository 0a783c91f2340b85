#include "data/table.h"

#include "data/bad_rows.h"
#include "data/json_lines.h"
#include "data/lines.h"
#include "data/table_columns.h"
#include "formats/csv.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>

#include <fmt/ranges.h>

namespace attend {
namespace {

using Record = std::vector<std::string>;

// The records of a TSV or CSV file.
class Records {
 public:
  virtual ~Records() = default;
  virtual std::optional<Record> next() = 0;
  virtual std::string place() const = 0;
};

class TsvRecords : public Records {
 public:
  TsvRecords(std::string_view text, const std::string& file) : lines_(text, file) {}
  std::optional<Record> next() override {
    std::optional<std::string_view> line;
    do {
      line = lines_.next();
      if (!line) return {};
    } while (trimmed(*line).empty());
    Record record;
    for (std::string_view rest = *line;;) {
      const std::size_t tab = rest.find('\t');
      record.emplace_back(rest.substr(0, tab));
      if (tab == rest.npos) return record;
      rest.remove_prefix(tab + 1);
    }
  }
  std::string place() const override { return lines_.place(); }

 private:
  LineReader lines_;
};

class CsvRecords : public Records {
 public:
  CsvRecords(std::string_view text, const std::string& file)
      : stream_(std::string(text)), reader_(stream_, ',', file) {}
  std::optional<Record> next() override { return reader_.next(); }
  std::string place() const override { return reader_.place(); }

 private:
  std::istringstream stream_;
  CsvReader reader_;
};

std::unique_ptr<Records> open(std::string_view text, const std::string& file, TableFormat format) {
  if (format == TableFormat::csv) return std::make_unique<CsvRecords>(text, file);
  return std::make_unique<TsvRecords>(text, file);
}

// How many columns most rows at the beginning have.
std::size_t usual_width(Records& records) {
  constexpr std::size_t kRows = 1000;
  std::map<std::size_t, std::size_t> widths;
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto record = records.next();
    if (!record) break;
    ++widths[record->size()];
  }
  const auto most = std::ranges::max_element(widths, {}, [](const auto& width) { return width.second; });
  return most == widths.end() ? 0 : most->first;
}

std::string say_columns(const ColumnPlaces& places) {
  return places.least == places.most ? std::to_string(places.least)
                                     : fmt::format("at least {}", places.least);
}

// As parse_columns reads it.
std::string columns_text(const ColumnPlaces& places) {
  std::vector<std::string> parts;
  for (const auto& [role, column] : places.roles) parts.push_back(fmt::format("{}={}", role, column + 1));
  return fmt::format("{}", fmt::join(parts, ","));
}

using Take = std::function<void(const Fields&)>;

void read_records(const std::string& file, TableFormat format, const Columns& columns,
                  const TableLayout& layout, BadRows& bad, const Take& take) {
  const TextFile whole(file);
  const auto records = open(whole.text(), file, format);
  std::optional<Record> record = records->next();
  if (!record) return;
  ColumnPlaces places;
  if (is_header(*record, columns, layout)) {
    places = places_by_name(*record, columns, layout, records->place(), true);
    record = records->next();
  } else {
    const std::size_t width = usual_width(*open(whole.text(), file, format));
    places = places_by_order(width, columns, layout, file);
    bad.advise(fmt::format("the columns were taken as {}; if they are others, say which is which (--columns)",
                           columns_text(places)));
  }
  for (; record; record = records->next())
    bad.read([&] {
      if (record->size() < places.least || record->size() > places.most)
        fail("{}: expected {} columns, found {}", records->place(), say_columns(places), record->size());
      Json fields = Json::object();
      for (const auto& [role, column] : places.roles) {
        check_utf8((*record)[column], records->place());
        fields[role] = std::move((*record)[column]);
      }
      take(Fields(std::move(fields), records->place()));
    });
}

void read_objects(const std::string& file, const Columns& columns, const TableLayout& layout, BadRows& bad,
                  const Take& take) {
  std::vector<std::string> known;  // the names of the last object, which most others share
  ColumnPlaces places;
  read_json_lines(file, bad, [&](Json value, const std::string& place) {
    if (!value.is_object()) fail("{}: expected an object, found {}", place, shown(value));
    std::vector<std::string> names;
    for (const auto& [name, field] : value.items())
      if (!field.is_null()) names.push_back(name);
    if (names != known || places.roles.empty()) {
      places = places_by_name(names, columns, layout, place, false);
      known = names;
    }
    Json fields = Json::object();
    for (const auto& [role, column] : places.roles) fields[role] = std::move(value[names[column]]);
    take(Fields(std::move(fields), place));
  });
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
  for (const std::string& file : files) {
    const TableFormat format = options.format ? *options.format : table_format_of(file);
    if (format == TableFormat::json_lines)
      read_objects(file, columns, layout, bad, take);
    else
      read_records(file, format, columns, layout, bad, take);
  }
  bad.report();
}

}  // namespace attend
