#include "cli/run_task.h"

#include "base/error.h"

namespace attend::cli {

std::vector<Json> Task::from_texts(const std::vector<std::string>& texts) const {
  std::vector<Json> inputs;
  for (const std::string& text : texts) inputs.push_back(Json{{"text", text}});
  return inputs;
}

std::string text_of(const Fields& input) {
  std::string text = input.text({"text", "sequence", "inputs"});
  if (text.empty()) fail("{}: the text is empty", input.source());
  return text;
}

std::vector<std::string> texts_of(const std::vector<Fields>& inputs) {
  std::vector<std::string> texts;
  for (const Fields& input : inputs) texts.push_back(text_of(input));
  return texts;
}

}  // namespace attend::cli
