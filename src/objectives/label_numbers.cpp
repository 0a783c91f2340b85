#include "objectives/label_numbers.h"

#include "base/error.h"

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

namespace attend {

std::int64_t label_number(const Labels& labels, const std::string& label) {
  const std::vector<std::string>& names = labels.names;
  const auto found = std::find(names.begin(), names.end(), label);
  if (found != names.end()) return found - names.begin();
  std::int64_t number = 0;
  const char* end = label.data() + label.size();
  const auto [rest, error] = std::from_chars(label.data(), end, number);
  if (error == std::errc() && rest == end && number >= 0 && number < static_cast<std::int64_t>(names.size()))
    return number;
  fail("the label \"{}\" is none of those of the model: {}", label, fmt::join(names, ", "));
}

std::vector<std::string> numbered_labels(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace attend
