#include "objectives/shared/label_numbers.h"

#include "base/error.h"

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

namespace attend {

namespace {

std::optional<std::int64_t> read_integer(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return {};
  return number;
}

}  // namespace

bool is_label_number(const std::string& label, std::size_t count) {
  const std::optional<std::int64_t> number = read_integer(label);
  return number && *number >= 0 && *number < static_cast<std::int64_t>(count);
}

std::optional<std::int64_t> find_label(const Labels& labels, const std::string& label) {
  const std::vector<std::string>& names = labels.names;
  const auto found = std::find(names.begin(), names.end(), label);
  if (found != names.end()) return found - names.begin();
  if (is_label_number(label, names.size())) return read_integer(label);
  return {};
}

std::int64_t label_number(const Labels& labels, const std::string& label, const std::string& place) {
  if (const std::optional<std::int64_t> number = find_label(labels, label)) return *number;
  fail("{}: the label \"{}\" is none of the model's, which are {}", place, label,
       fmt::join(labels.names, ", "));
}

std::vector<std::string> numbered_labels(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace attend
