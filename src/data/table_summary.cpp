#include "data/table_summary.h"

#include "base/log.h"
#include "data/labeled_texts.h"
#include "data/lines.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace attend {
namespace {

// "tweet (text), hate (label)", in the order of the columns; columns without a name by their numbers.
std::string named_columns(const ColumnPlaces& places, const std::vector<std::string>& names) {
  const auto name = [&](std::size_t column) {
    return names.empty() ? std::to_string(column + 1) : std::string(trimmed(names[column]));
  };
  auto roles = places.roles;
  std::ranges::sort(roles, {}, [](const auto& role) { return role.second; });
  std::vector<std::string> parts;
  for (const auto& [role, column] : roles)
    parts.push_back(name(column) == role ? role : fmt::format("{} ({})", name(column), role));
  if (!places.labels.empty()) {
    std::vector<std::string> labels;
    for (const auto& [label, _] : places.labels) labels.push_back(label);
    parts.push_back(fmt::format("{} (labels)", fmt::join(labels, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The list in a cell of several labels; else the value.
Json as_list(const Json& value) {
  if (!value.is_string() || !trimmed(value.get_ref<const std::string&>()).starts_with('[')) return value;
  return Json::parse(value.get_ref<const std::string&>(), nullptr, /*allow_exceptions=*/false);
}

}  // namespace

void TableSummary::describe(const ColumnPlaces& places, const std::vector<std::string>& names,
                            TableHeader header, char separator) {
  columns_ = "columns " + named_columns(places, names);
  has_header_ = header != TableHeader::no;
  ends_ = header == TableHeader::no ? "; header: no"
          : header == TableHeader::guessed
              ? "; header: yes, by the look of line 1 (`header` false if it is a row)"
              : "; header: yes";
  if (separator == ';') ends_ += "; separated by semicolons";
}

void TableSummary::describe_fields(const ColumnPlaces& places, const std::vector<std::string>& names) {
  if (columns_.empty()) columns_ = "fields " + named_columns(places, names);
}

void TableSummary::add(const Fields& row) {
  ++rows_;
  for (const auto& [role, value] : row.json().items()) {
    if (!is_label_role(role)) continue;
    if (role == "score")
      add_score(value);
    else if (const Json list = as_list(value); list.is_array())
      for (const Json& each : list) add_label(each);
    else
      add_label(value);
  }
}

void TableSummary::add_score(const Json& value) {
  std::optional<double> number;
  if (value.is_number())
    number = value.get<double>();
  else if (value.is_string())
    number = number_in(value.get_ref<const std::string&>());
  if (!number) return;
  lowest_ = has_scores_ ? std::min(lowest_, *number) : *number;
  highest_ = has_scores_ ? std::max(highest_, *number) : *number;
  has_scores_ = true;
}

// Numbers for each label, and labels with their own columns, are not names.
void TableSummary::add_label(const Json& value) {
  if (!value.is_string() && !value.is_number_integer() && !value.is_boolean()) return;
  const std::string name =
      value.is_string() ? std::string(trimmed(value.get_ref<const std::string&>())) : value.dump();
  if (name.empty()) return;
  if (labels_.empty()) first_label_ = name;
  ++labels_[name];
}

bool TableSummary::first_stands_out() const {
  if (has_header_ || labels_.size() < 2 || number_in(first_label_)) return false;
  const auto of_first = labels_.find(first_label_);
  if (of_first == labels_.end() || of_first->second > 1) return false;
  return std::ranges::all_of(
      labels_, [&](const auto& label) { return label.first == first_label_ || label.second > 1; });
}

std::string TableSummary::labels() const {
  constexpr std::size_t max_named = 10;
  if (has_scores_) return fmt::format("; scores from {} to {}", lowest_, highest_);
  if (labels_.empty()) return "";
  std::vector<std::string> names;
  for (const auto& [name, _] : labels_) names.push_back(name);
  names = in_label_order(std::move(names));
  if (names.size() > max_named) names.resize(max_named);
  return fmt::format("; {}labels {}{}",
                     labels_.size() > max_named ? std::to_string(labels_.size()) + " " : "",
                     fmt::join(names, ", "), labels_.size() > max_named ? ", ..." : "");
}

void TableSummary::report() const {
  if (rows_ == 0) return;  // the reader of the table reports it
  inform("{}: {}{}; {} row{}{}", file_, columns_, labels(), rows_, rows_ == 1 ? "" : "s", ends_);
  if (first_stands_out())
    warn("{}: the label \"{}\" is only in line 1; if that line names the columns, set `header`", file_,
         first_label_);
}

}  // namespace attend
