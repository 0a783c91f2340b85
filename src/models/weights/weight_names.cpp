#include "models/weights/weight_names.h"

#include "base/error.h"

#include <cctype>
#include <map>
#include <numeric>
#include <optional>

namespace attend {
namespace {

// The word for each group of a pattern: "{query|key}" -> "key".
using Groups = std::map<std::string, std::string, std::less<>>;

std::vector<std::string> words_of(std::string_view group) {
  std::vector<std::string> words{""};
  for (char c : group.substr(1, group.size() - 2)) {
    if (c == '|')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

std::string_view first_group(std::string_view pattern, std::size_t at) {
  return pattern.substr(at, pattern.find('}', at) + 1 - at);
}

bool match(std::string_view pattern, std::string_view name, Groups& groups) {
  const std::size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) return pattern == name;
  if (name.substr(0, brace) != pattern.substr(0, brace)) return false;
  const std::string_view group = first_group(pattern, brace);
  pattern.remove_prefix(brace + group.size());
  name.remove_prefix(std::min(brace, name.size()));
  const auto goes_on = [&](std::size_t size) {
    groups[std::string(group)] = name.substr(0, size);
    return match(pattern, name.substr(size), groups);
  };
  if (group == "{i}") {
    std::size_t digits = 0;
    while (digits < name.size() && std::isdigit(static_cast<unsigned char>(name[digits]))) ++digits;
    return digits > 0 && goes_on(digits);
  }
  for (const std::string& word : words_of(group))
    if (name.starts_with(word) && goes_on(word.size())) return true;
  return false;
}

// Every name that a checkpoint pattern matches; several if it has a packed group.
std::vector<std::string> fill(std::string_view pattern, const Groups& groups) {
  const std::size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) return {std::string(pattern)};
  const std::string_view group = first_group(pattern, brace);
  const auto known = groups.find(group);
  const std::vector<std::string> words =
      known != groups.end() ? std::vector<std::string>{known->second} : words_of(group);
  std::vector<std::string> names;
  for (const std::string& word : words)
    for (const std::string& rest : fill(pattern.substr(brace + group.size()), groups))
      names.push_back(std::string(pattern.substr(0, brace)) + word + rest);
  return names;
}

}  // namespace

WeightSource::Rows WeightSource::rows_of(std::size_t i, std::int64_t total) const {
  if (rows.empty()) {
    const std::int64_t count = total / static_cast<std::int64_t>(names.size());
    return {static_cast<std::int64_t>(i) * count, count};
  }
  // Tensors with fewer rows (blocks of rows, scales) are divided in the same proportions.
  const auto of = [&](std::size_t end) {
    return std::accumulate(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{0});
  };
  const std::int64_t all = of(rows.size()), first = total * of(i) / all;
  return {first, total * of(i + 1) / all - first};
}

WeightSource find_source(const std::vector<WeightName>& table, std::string_view parameter) {
  for (const WeightName& row : table) {
    Groups groups;
    if (!match(row.ours, parameter, groups)) continue;
    WeightSource source{.names = fill(row.checkpoint, groups),
                        .aliases = {},
                        .layout = row.layout,
                        .frozen = row.frozen,
                        .shape = row.shape,
                        .heads = row.heads,
                        .queries_per_head = row.queries_per_head,
                        .values_before_keys = row.values_before_keys,
                        .rows = row.rows};
    if (source.names.size() != source.rows.size()) source.rows.clear();  // they are one tensor there
    for (const std::string& alias : row.aliases) source.aliases.push_back(fill(alias, groups).front());
    return source;
  }
  fail("no row of the weight table names {}", parameter);
}

bool matches(std::string_view pattern, std::string_view name) {
  Groups groups;
  return match(pattern, name, groups);
}

}  // namespace attend
