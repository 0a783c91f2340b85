#include "objectives/shared/languages.h"

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

namespace attend {
namespace {

// lang2id of config.json: each name with its index, from 0 to count - 1.
std::vector<std::pair<std::string, std::int64_t>> read_names(const Fields& config, std::int64_t count) {
  std::vector<std::pair<std::string, std::int64_t>> names;
  const auto found = config.json().find("lang2id");
  if (found == config.json().end() || found->is_null()) return names;
  const Fields ids(*found, config.source() + ": lang2id");
  for (const auto& [name, id] : ids.json().items())
    names.emplace_back(name, ids.integer({name}, {}, 0, count - 1));
  return names;
}

std::optional<std::int64_t> find_number(const std::string& text, std::int64_t count) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value >= count) return {};
  return value;
}

}  // namespace

std::vector<std::int64_t> file_languages(const Setting& setting) {
  const StackSpec& stack = setting.spec.encoder ? *setting.spec.encoder : *setting.spec.decoder;
  const std::int64_t count = stack.embeddings.languages;
  const std::vector<std::string>& given = setting.recipe.data.languages;
  if (count == 0) {
    if (!given.empty())
      fail("`languages`: {} has no vectors for languages; leave them out", setting.directory.path().string());
    return {};
  }
  if (given.size() > 1 && given.size() != setting.files.size())
    fail("`languages`: expected one of all files or one for each of {}, found {}", setting.files.size(),
         given.size());
  const auto names = read_names(setting.directory.config(), count);
  std::vector<std::int64_t> languages;
  for (std::size_t i = 0; i < setting.files.size(); ++i) {
    const std::string ending = std::filesystem::path(setting.files[i]).extension().string();
    const std::string name = !given.empty()   ? given[given.size() == 1 ? 0 : i]
                             : ending.empty() ? ""
                                              : ending.substr(1);
    const auto named = std::ranges::find(names, name, [](const auto& each) { return each.first; });
    const std::optional<std::int64_t> number =
        named != names.end() ? named->second : find_number(name, count);
    if (!number) {
      std::vector<std::string> known;
      for (const auto& each : names) known.push_back(each.first);
      if (known.empty()) known.push_back(fmt::format("0 to {}, for config.json has no lang2id", count - 1));
      fail("{}: \"{}\" is none of the model's languages; say `languages` with one for each file ({})",
           setting.files[i], name, fmt::join(known, ", "));
    }
    languages.push_back(*number);
  }
  return languages;
}

}  // namespace attend
