#include "cli/text_list.h"

#include "formats/json.h"

#include <algorithm>
#include <ranges>

namespace attend::cli {

CLI::Option* TextList::add(CLI::App& app, const std::string& names, const std::string& help) {
  return app
      .add_option(
          names, given_,
          help + ", comma-separated or as a JSON list; if the option is repeated, each value is one item")
      ->allow_extra_args(false);
}

std::vector<std::string> TextList::texts() const {
  if (given_.size() != 1) return given_;
  const Json list = Json::parse(given_.front(), nullptr, /*allow_exceptions=*/false);
  if (list.is_array() && std::ranges::all_of(list, [](const Json& each) { return each.is_string(); }))
    return list.get<std::vector<std::string>>();
  return split_at_commas(given_.front());
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::string part : CLI::detail::split(text, ','))
    if (CLI::detail::trim(part); !part.empty()) parts.push_back(std::move(part));
  return parts.empty() && !text.empty() ? std::vector{text} : parts;
}

}  // namespace attend::cli
