#include "data/table_columns.h"

#include "base/error.h"
#include "base/utf8.h"

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

namespace attend {
namespace {

using Names = std::vector<std::string>;

// The best-known come first. All in lower case.
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

// Texts that come together. "question" is the first text beside "answer" and beside QNLI's "sentence".
const std::vector<std::pair<std::string, std::string>> kTextPairs = {
    {"text", "pair"},         {"text", "text_pair"},  {"sentence", "pair"},      {"sentence1", "sentence2"},
    {"text_a", "text_b"},     {"text1", "text2"},     {"premise", "hypothesis"}, {"question1", "question2"},
    {"question", "sentence"}, {"anchor", "positive"}, {"query", "positive"},     {"query", "answer"},
    {"question", "answer"},
};

bool is_label(std::string_view role) {
  return role == "label" || role == "labels" || role == "score";
}

// All roles, those that must be there first.
Names roles_of(const TableLayout& layout) {
  Names roles;
  for (const Names& order : layout.orders)
    for (const std::string& role : order)
      if (std::ranges::find(roles, role) == roles.end()) roles.push_back(role);
  return roles;
}

// A column's number from 1 as its place from 0.
std::optional<std::size_t> number_of(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return {};
  return number - 1;
}

std::optional<std::size_t> find(const Names& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return {};
  return static_cast<std::size_t>(found - names.begin());
}

std::string how_to(const Names& roles) {
  Names parts;
  for (const std::string& role : roles) parts.push_back(role + "=COLUMN");
  return fmt::format("say which is which: {}", fmt::join(parts, ","));
}

}  // namespace

Columns parse_columns(std::string_view text) {
  Columns columns;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == part.npos || equals == 0 || equals + 1 == part.size())
      fail("columns: expected ROLE=COLUMN, such as text=sentence or text=1, found '{}'", part);
    const std::string role(part.substr(0, equals));
    if (!kNames.contains(role)) {
      Names known;
      for (const auto& [name, _] : kNames) known.push_back(name);
      fail("columns: there is no role '{}'; these are: {}", role, fmt::join(known, ", "));
    }
    if (!columns.emplace(role, part.substr(equals + 1)).second) fail("columns: '{}' is given twice", role);
  }
  return columns;
}

Columns columns_for(Columns columns, const TableLayout& layout) {
  const Names roles = roles_of(layout);
  const auto own = std::ranges::find_if(roles, is_label);
  Columns result;
  for (auto& [role, column] : columns) {
    const std::string& name = is_label(role) && own != roles.end() ? *own : role;
    if (!find(roles, name))
      fail("columns: expected roles among {}, found '{}', which this task does not read",
           fmt::join(roles, ", "), role);
    if (!result.emplace(name, std::move(column)).second)
      fail("columns: label, labels and score are the same here; give one of them");
  }
  return result;
}

bool is_header(const Names& row, const Columns& columns, const TableLayout& layout) {
  bool named = false;
  for (const auto& [role, column] : columns) named |= !number_of(column);
  if (named) return true;
  Names names;
  for (const std::string& cell : row) names.push_back(ascii_lowercase(cell));
  const auto known = [&](bool label, std::size_t cell) {
    return std::ranges::any_of(roles_of(layout), [&](const std::string& role) {
      return is_label(role) == label && find(kNames.at(role), names[cell]);
    });
  };
  if (std::ranges::none_of(roles_of(layout), is_label))
    return std::ranges::any_of(
        kTextPairs, [&](const auto& both) { return find(names, both.first) && find(names, both.second); });

  std::size_t texts = 0, labels = 0, both = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool text = known(false, i), label = known(true, i);
    texts += text;
    labels += label;
    both += text && label;
  }
  if (texts > 0 && labels > 0 && texts + labels > both + 1) return true;

  std::optional<std::size_t> place;  // of the label
  for (const auto& [role, column] : columns)
    if (is_label(role)) place = number_of(column);
  for (const Names& order : layout.orders)
    if (columns.empty() && order.size() == names.size())
      place = static_cast<std::size_t>(std::ranges::find_if(order, is_label) - order.begin());
  return place && *place < names.size() &&
         find({"label", "labels", "score", "similarity", "gold_label", "similarity_score"}, names[*place]);
}

ColumnPlaces places_by_name(const Names& names, const Columns& columns, const TableLayout& layout,
                            const std::string& place, bool numbered) {
  const Names roles = roles_of(layout);
  Names left;  // names in lower case; empty where the column has a role
  for (const std::string& name : names) left.push_back(ascii_lowercase(name));
  std::map<std::string, std::size_t, std::less<>> places;
  const auto take = [&](const std::string& role, std::size_t column) {
    places[role] = column;
    left[column].clear();
  };
  for (const auto& [role, column] : columns) {
    auto found = find(names, column);
    if (!found && numbered) found = number_of(column);
    if (!found || *found >= names.size())
      fail("{}: expected a column '{}' for {}, found {}", place, column, role, fmt::join(names, ", "));
    take(role, *found);
  }
  const bool texts_given = columns.contains("text") || columns.contains("pair");
  if (!texts_given && find(roles, "text") && find(roles, "pair"))
    for (const auto& [first, second] : kTextPairs) {
      const auto text = find(left, first), pair = find(left, second);
      if (!text || !pair) continue;
      take("text", *text);
      take("pair", *pair);
      break;
    }
  const std::size_t required = layout.orders.front().size();
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (places.contains(roles[i]) || (i >= required && roles[i] == "pair" && texts_given)) continue;
    for (const std::string& name : kNames.at(roles[i]))
      if (const auto found = find(left, name)) {
        take(roles[i], *found);
        break;
      }
  }
  Names missing, unused;
  for (std::size_t i = 0; i < required; ++i)
    if (!places.contains(roles[i])) missing.push_back(roles[i]);
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!left[i].empty()) free.push_back(i);
  const bool only_texts =
      std::ranges::all_of(missing, [](const std::string& role) { return role == "text" || role == "pair"; });
  if (only_texts && missing.size() == free.size())
    for (std::size_t i = 0; i < missing.size(); ++i) take(missing[i], free[i]);
  else if (!missing.empty())
    fail("{}: expected {}, found no {} among the columns {}; {}", place, layout.expected,
         fmt::join(missing, ", "), fmt::join(names, ", "), how_to(missing));

  ColumnPlaces result;
  result.roles.assign(places.begin(), places.end());
  result.least = result.most = names.size();
  return result;
}

ColumnPlaces places_by_order(std::size_t width, const Columns& columns, const TableLayout& layout,
                             const std::string& place) {
  ColumnPlaces result;
  const Names& required = layout.orders.front();
  if (columns.empty()) {
    for (const Names& order : layout.orders)
      if (order.size() == width) {
        for (std::size_t i = 0; i < width; ++i) result.roles.emplace_back(order[i], i);
        result.least = result.most = width;
        return result;
      }
    Names orders;
    for (const Names& order : layout.orders) orders.push_back(fmt::format("{}", fmt::join(order, ", ")));
    fail("{}: expected the columns {}, found {} and no header that says which they are; {}", place,
         fmt::join(orders, " or "), width, how_to(required));
  }
  for (const auto& [role, column] : columns) {
    result.roles.emplace_back(role, *number_of(column));
    result.least = std::max(result.least, result.roles.back().second + 1);
  }
  for (const std::string& role : required)
    if (!columns.contains(role))
      fail("{}: the table has no header, so {} needs its column's number too; {}", place, role,
           how_to({role}));
  if (result.least > width) fail("{}: expected at least {} columns, found {}", place, result.least, width);
  return result;
}

}  // namespace attend
