#include "cli/options/given_texts.h"

#include "base/bad_inputs.h"
#include "base/file.h"
#include "base/text_lines.h"
#include "base/utf8.h"
#include "cli/options/bad_inputs.h"

#include <iostream>
#include <sstream>

namespace attend::cli {

GivenTexts::GivenTexts(const std::vector<std::string>& arguments) {
  for (const std::string& text : arguments)
    add(text, arguments.size() == 1 ? "the text" : fmt::format("text {}", texts_.size() + 1));
  if (!arguments.empty()) return;
  add_lines(std::cin, "standard input");
}

GivenTexts GivenTexts::of_file(const std::filesystem::path& path) {
  std::istringstream in(read_file(path));
  GivenTexts texts;
  texts.add_lines(in, path.string());
  return texts;
}

void GivenTexts::add_lines(std::istream& in, const std::string& source) {
  StreamLines lines(in, source);
  while (std::optional<std::string> line = lines.next()) add(std::move(*line), lines.place());
}

void GivenTexts::add(std::string text, std::string place) {
  std::string error;
  if (const auto at = find_invalid_utf8(text)) {
    error = fmt::format("{}: invalid UTF-8 at byte {}", place, *at);
    text = repair_utf8(text);
  }
  texts_.push_back({std::move(text), std::move(place), std::move(error)});
}

void GivenTexts::answer(const std::function<void(Numbers)>& work) {
  std::vector<std::size_t> good;
  for (std::size_t i = 0; i < texts_.size(); ++i)
    if (texts_[i].error.empty()) good.push_back(i);
  work_around_bad(
      0, good.size(),
      [&](std::size_t begin, std::size_t end) { work(Numbers(good).subspan(begin, end - begin)); },
      [&](std::size_t i, const Error& error) {
        Text& text = texts_[good[i]];
        text.error = name_input(text.place, error.what());
      });
}

std::vector<std::string> GivenTexts::some(Numbers numbers) const {
  std::vector<std::string> texts;
  for (const std::size_t i : numbers) texts.push_back(texts_[i].text);
  return texts;
}

}  // namespace attend::cli
