#include "data/choices.h"

#include "base/error.h"
#include "data/lines.h"

#include <algorithm>

namespace attend {
namespace {

std::size_t label_of(const Json& label, const std::vector<std::string>& choices, const std::string& place) {
  if (label.is_string()) {
    const auto found = std::ranges::find(choices, label.get_ref<const std::string&>());
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  } else if (label.is_number_integer() && label >= 0 && label < choices.size()) {
    return label.get<std::size_t>();
  }
  fail("{}: label: expected an integer from 0 to {} or the text of a choice, found {}", place,
       choices.size() - 1, shown(label));
}

ChoiceQuestion choice_question_of(const Fields& row) {
  ChoiceQuestion result;
  if (row.has({"context"})) result.context = row.text({"context"});
  result.question = row.text({"question"});
  if (trimmed(result.question).empty()) fail("{}: the question is empty", row.source());
  const Json& choices = row.json()["choices"];
  if (!choices.is_array() || choices.size() < 2)
    fail("{}: choices: expected a list of at least two texts, found {}", row.source(), shown(choices));
  result.choices = row.texts({"choices"});
  for (const std::string& choice : result.choices)
    if (trimmed(choice).empty()) fail("{}: one of the choices is empty", row.source());
  result.label = label_of(row.json()["label"], result.choices, row.source());
  return result;
}

}  // namespace

std::vector<ChoiceQuestion> read_choices(const std::vector<std::string>& files, const TableOptions& options) {
  if (options.format.value_or(TableFormat::json_lines) != TableFormat::json_lines)
    fail("questions with choices are read from JSON lines; found another format");
  std::vector<ChoiceQuestion> questions;
  read_table(files, {TableFormat::json_lines, options.columns},
             {"a question, its choices and a label",
              {{"question", "choices", "label"}, {"context", "question", "choices", "label"}}},
             [&](const Fields& row) { questions.push_back(choice_question_of(row)); });
  return questions;
}

}  // namespace attend
