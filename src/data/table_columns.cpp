#include "data/table_columns.h"

#include "base/error.h"
#include "base/utf8.h"
#include "data/lines.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/ranges.h>

namespace attend {
namespace {

using Names = std::vector<std::string>;

// Well-known names, the best-known first. All in lower case.
const std::map<std::string, Names, std::less<>> kNames = {
    {"text",
     {"text", "sentence", "sentence1", "text_a", "text1", "premise", "question1", "review", "content",
      "document", "tweet", "comment", "query", "anchor", "question"}},
    {"pair", {"pair", "text_pair", "sentence2", "text_b", "text2", "hypothesis", "question2", "positive"}},
    {"label",
     {"label", "labels", "gold_label", "class", "category", "target", "sentiment", "intent", "emotion",
      "is_duplicate", "score", "similarity", "similarity_score", "rating", "stars"}},
    {"labels", {"labels", "label", "tags", "target", "categories", "classes"}},
    {"score", {"score", "similarity", "similarity_score", "label", "labels", "target", "rating", "stars"}},
    {"question", {"question"}},
    {"context", {"context", "passage", "article"}},
    {"answers", {"answers"}},
    {"choices", {"choices", "options"}},
    {"image", {"image", "path", "file", "file_name", "filename", "image_path"}},
    {"words", {"words", "tokens"}},
    {"tags", {"tags", "ner_tags", "pos_tags", "labels"}},
    {"id", {"id"}},
};

// Pairs of texts. "question" is the first text if the table has "answer" or QNLI's "sentence".
const std::vector<std::pair<std::string, std::string>> kTextPairs = {
    {"text", "pair"},         {"text", "text_pair"},  {"sentence", "pair"},      {"sentence1", "sentence2"},
    {"text_a", "text_b"},     {"text1", "text2"},     {"premise", "hypothesis"}, {"question1", "question2"},
    {"question", "sentence"}, {"anchor", "positive"}, {"query", "positive"},     {"query", "answer"},
    {"question", "answer"},
};

// Columns that only number the rows.
const Names kIndexNames = {"", "id", "idx", "index", "guid", "uid", "row", "unnamed: 0"};

std::optional<std::size_t> find(const Names& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return {};
  return static_cast<std::size_t>(found - names.begin());
}

std::string how_to(const Names& roles) {
  Names parts;
  for (const std::string& role : roles) parts.push_back(fmt::format("`column` {}=COLUMN", role));
  return fmt::format("say which is which: {}", fmt::join(parts, " "));
}

// The start of a part that begins with a comma and ROLE=; npos if there is none.
std::size_t next_part(std::string_view text) {
  for (std::size_t comma = text.find(','); comma != text.npos; comma = text.find(',', comma + 1)) {
    const std::string_view rest = text.substr(comma + 1);
    const std::size_t end = rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
    if (rest.empty() || (end != rest.npos && end > 0 && rest[end] == '=')) return comma;
  }
  return text.npos;
}

// Gives columns to roles, the surest first.
class Assignment {
 public:
  Assignment(const NamedColumns& table, const Columns& columns, const TableLayout& layout)
      : table_(table), columns_(columns), layout_(layout), roles_(roles_of(layout)) {
    for (const std::string& name : table.names) left_.push_back(ascii_lowercase(std::string(trimmed(name))));
  }

  void take_given() {
    for (const auto& [role, column] : columns_) {
      auto found = find(table_.names, column);
      if (!found && table_.numbered) found = column_number(column);
      if (!found || *found >= table_.names.size())
        fail("{}: expected a column '{}' for {}, found {}", table_.place, column, role,
             fmt::join(table_.names, ", "));
      take(role, *found);
    }
  }
  void take_known() {
    const bool texts_given = columns_.contains("text") || columns_.contains("pair");
    if (!texts_given && find(roles_, "text") && find(roles_, "pair"))
      for (const auto& [first, second] : kTextPairs) {
        const auto text = find(left_, first), pair = find(left_, second);
        if (!text || !pair) continue;
        take("text", *text);
        take("pair", *pair);
        break;
      }
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (places_.contains(roles_[i]) || (i >= required().size() && roles_[i] == "pair" && texts_given))
        continue;
      for (const std::string& name : kNames.at(roles_[i]))
        if (const auto found = find(left_, name)) {
          take(roles_[i], *found);
          break;
        }
    }
  }
  void take_label_columns() {
    if (!layout_.label_columns || places_.contains("labels") || !table_.has_flags) return;
    for (const std::size_t column : free())
      if (table_.has_flags(column)) {
        labels_.emplace_back(trimmed(table_.names[column]), column);
        left_[column].clear();
      }
  }
  // If the numbers of remaining columns and roles are equal.
  void take_rest() {
    const Names roles = missing();
    const std::vector<std::size_t> columns = free();
    if (roles.size() == columns.size())
      for (std::size_t i = 0; i < roles.size(); ++i) take(roles[i], columns[i]);
    else if (!roles.empty())
      fail("{}: expected {}, found no {} among the columns {}; {}", table_.place, layout_.expected,
           fmt::join(roles, ", "), fmt::join(table_.names, ", "), how_to(roles));
  }
  ColumnPlaces places() const {
    ColumnPlaces result;
    result.roles.assign(places_.begin(), places_.end());
    result.labels = labels_;
    result.min = result.max = table_.names.size();
    return result;
  }

 private:
  const Names& required() const { return layout_.orders.front(); }
  void take(const std::string& role, std::size_t column) {
    places_[role] = column;
    left_[column].clear();
  }
  Names missing() const {
    Names roles;
    for (const std::string& role : required())
      if (!places_.contains(role) && (role != "labels" || labels_.empty())) roles.push_back(role);
    return roles;
  }
  std::vector<std::size_t> free() const {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < left_.size(); ++i)
      if (!find(kIndexNames, left_[i])) columns.push_back(i);
    return columns;
  }

  const NamedColumns& table_;
  const Columns& columns_;
  const TableLayout& layout_;
  const Names roles_;
  Names left_;  // the names in lower case; empty if the column has a role
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<std::pair<std::string, std::size_t>> labels_;
};

}  // namespace

Columns parse_columns(std::string_view text) {
  Columns columns;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, next_part(text));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == part.npos || equals == 0 || equals + 1 == part.size())
      fail("`column`: expected ROLE=COLUMN, such as text=sentence or text=1, found '{}'", part);
    const std::string role(part.substr(0, equals));
    if (!kNames.contains(role)) {
      Names known;
      for (const auto& [name, _] : kNames) known.push_back(name);
      fail("`column`: there is no role '{}'; these are: {}", role, fmt::join(known, ", "));
    }
    if (!columns.emplace(role, part.substr(equals + 1)).second) fail("`column`: '{}' is given twice", role);
  }
  return columns;
}

std::vector<std::string> roles_of(const TableLayout& layout) {
  Names roles;
  for (const Names& order : layout.orders)
    for (const std::string& role : order)
      if (!find(roles, role)) roles.push_back(role);
  return roles;
}

bool is_label_role(std::string_view role) {
  return role == "label" || role == "labels" || role == "score";
}

bool is_known_name(const std::string& role, std::string_view name) {
  return find(kNames.at(role), name).has_value();
}

bool has_text_pair(const std::vector<std::string>& names) {
  return std::ranges::any_of(
      kTextPairs, [&](const auto& both) { return find(names, both.first) && find(names, both.second); });
}

std::optional<double> number_in(std::string_view cell) {
  const std::string_view text = trimmed(cell);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::optional<std::size_t> column_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return {};
  return number - 1;
}

std::optional<std::size_t> label_place(std::size_t width, const Columns& columns, const TableLayout& layout) {
  std::optional<std::size_t> place;
  for (const auto& [role, column] : columns)
    if (is_label_role(role)) place = column_number(column);
  for (const Names& order : layout.orders)
    if (columns.empty() && order.size() == width)
      if (const auto label = std::ranges::find_if(order, is_label_role); label != order.end())
        place = static_cast<std::size_t>(label - order.begin());
  return place && *place < width ? place : std::nullopt;
}

Columns columns_for(Columns columns, const TableLayout& layout) {
  const Names roles = roles_of(layout);
  const auto own = std::ranges::find_if(roles, is_label_role);
  Columns result;
  for (auto& [role, column] : columns) {
    const std::string& name = is_label_role(role) && own != roles.end() ? *own : role;
    if (!find(roles, name))
      fail("`column`: expected roles among {}, found '{}', which this task does not read",
           fmt::join(roles, ", "), role);
    if (!result.emplace(name, std::move(column)).second)
      fail("`column`: label, labels and score are the same here; give one of them");
  }
  return result;
}

ColumnPlaces places_by_name(const NamedColumns& table, const Columns& columns, const TableLayout& layout) {
  Assignment assignment(table, columns, layout);
  assignment.take_given();
  assignment.take_known();
  assignment.take_label_columns();
  assignment.take_rest();
  return assignment.places();
}

ColumnPlaces places_by_order(std::size_t width, const Columns& columns, const TableLayout& layout,
                             const std::string& place) {
  ColumnPlaces result;
  const Names& required = layout.orders.front();
  if (columns.empty()) {
    for (const Names& order : layout.orders)
      if (order.size() == width) {
        for (std::size_t i = 0; i < width; ++i) result.roles.emplace_back(order[i], i);
        result.min = result.max = width;
        return result;
      }
    Names orders;
    for (const Names& order : layout.orders) orders.push_back(fmt::format("{}", fmt::join(order, ", ")));
    fail("{}: expected the columns {}, found {} and no header that says which they are; {}", place,
         fmt::join(orders, " or "), width, how_to(required));
  }
  for (const auto& [role, column] : columns) {
    result.roles.emplace_back(role, *column_number(column));
    result.min = std::max(result.min, result.roles.back().second + 1);
  }
  for (const std::string& role : required)
    if (!columns.contains(role))
      fail("{}: the table has no header, so {} needs its column's number too; {}", place, role,
           how_to({role}));
  if (result.min > width) fail("{}: expected at least {} columns, found {}", place, result.min, width);
  return result;
}

}  // namespace attend
