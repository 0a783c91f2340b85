#include "objectives/shared/label_choice.h"

#include "base/log.h"
#include "objectives/shared/label_numbers.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace attend {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool are_unnamed(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] != fmt::format("LABEL_{}", i)) return false;
  return true;
}

// "a, b, c", and of many the first.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 12;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), kShown));
  const std::string rest = names.size() > kShown ? fmt::format(", ... ({} in all)", names.size()) : "";
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + shown, ", "), rest);
}

void say_kept(const Setting& setting, const Labels& of_head, const Labels& kept,
              const std::vector<std::string>& of_data) {
  const std::string model = setting.directory.path().string();
  if (of_head.names != kept.names)
    inform(
        "{}: its head goes on learning; its labels had no names and now are the data's, in this order: {} "
        "(`fresh_head` makes a new head)",
        model, listed(kept.names));
  else if (!of_data.empty() && !has(kept.names, of_data.front()))
    inform(
        "{}: its head goes on learning; the data's labels {} are the ids of its own: {} "
        "(`fresh_head` makes a new head)",
        model, listed(of_data), listed(kept.names));
  else
    inform("{}: its head goes on learning, with its labels: {} (`fresh_head` makes a new head)", model,
           listed(kept.names));
}

std::vector<std::string> unknown_to(const Labels& head, const std::vector<std::string>& of_data) {
  std::vector<std::string> unknown;
  for (const std::string& name : of_data)
    if (!has(head.names, name)) unknown.push_back(name);
  return unknown;
}

}  // namespace

bool has_learned(const Labels& of_head, std::optional<ProblemType> problem) {
  if (problem != ProblemType::regression) return of_head.problem != ProblemType::regression;
  return of_head.problem ? of_head.problem == ProblemType::regression : are_unnamed(of_head.names);
}

std::optional<Labels> kept_labels(const Labels& of_head, const std::vector<std::string>& of_data) {
  const std::vector<std::string>& own = of_head.names;
  const auto named = std::ranges::count_if(of_data, [&](const std::string& name) { return has(own, name); });
  if (named == std::ssize(of_data)) return of_head;
  if (named > 0) return {};
  const bool are_ids = std::ranges::all_of(
      of_data, [&](const std::string& name) { return is_label_number(name, own.size()); });
  // With five named labels, 0 and 1 in the data hardly mean the first two.
  if (are_ids && (are_unnamed(own) || has(of_data, std::to_string(own.size() - 1)))) return of_head;
  if (are_unnamed(own) && own.size() == of_data.size()) return Labels{of_data, of_head.problem};
  return {};
}

Labels choose_labels(const Setting& setting, const std::vector<std::string>& of_data,
                     std::optional<ProblemType> problem) {
  const std::optional<Labels>& head = setting.head_labels;
  std::optional<Labels> chosen = setting.labels;
  if (!chosen && head && has_learned(*head, problem)) {
    chosen = kept_labels(*head, of_data);
    if (chosen) say_kept(setting, *head, *chosen, of_data);
  }
  const std::vector<std::string>& names = chosen ? chosen->names : of_data;
  if (problem == ProblemType::single_label && names.size() < 2)
    fail("{}: expected two labels at least, found only \"{}\"{}", fmt::join(setting.files, ", "),
         names.front(),
         head ? fmt::format(", which is none of the model's: {}", listed(head->names)) : std::string());
  if (!chosen && head)
    warn(
        "{}: a new head replaces the trained one, {}. With the model's labels in the data its head would "
        "stay; "
        "`fresh_head` makes a new one in any case",
        setting.directory.path().string(),
        has_learned(*head, problem) ? fmt::format("whose labels are {}: they lack {}, which the data has",
                                                  listed(head->names), listed(unknown_to(*head, of_data)))
                                    : "which predicts numbers");
  return {names, problem};
}

Labels choose_numbers(const Setting& setting, std::size_t count, ProblemType problem) {
  if (setting.labels) return {setting.labels->names, problem};
  const std::optional<Labels>& head = setting.head_labels;
  if (head) {
    if (has_learned(*head, problem) && head->names.size() == count) {
      say_kept(setting, *head, *head, {});
      return {head->names, problem};
    }
    warn(
        "{}: a new head replaces the trained one, which has {} {}, and the data has {} numbers to a text. "
        "`fresh_head` makes a new one in any case",
        setting.directory.path().string(), head->names.size(),
        head->problem == ProblemType::regression ? "numbers" : "labels", count);
  }
  return {numbered_labels(count), problem};
}

}  // namespace attend
