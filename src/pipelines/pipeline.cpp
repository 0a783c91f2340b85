#include "pipelines/pipeline.h"

#include "base/error.h"
#include "formats/json/known_fields.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace attend {

std::vector<InputField> Pipeline::fields() const {
  return {{{"text", "sequence", "inputs"}}};
}

std::vector<Json> Pipeline::from_texts(const std::vector<std::string>& texts) const {
  std::vector<Json> inputs;
  for (const std::string& text : texts) inputs.push_back(Json{{"text", text}});
  return inputs;
}

Option truncate_parameter(RunOptions& options) {
  return option::flag("truncate", options.truncate,
                      "Truncate texts longer than the model's maximum; by default they are errors");
}

void check_fields(const Fields& input, const Pipeline& pipeline, std::span<const std::string_view> others) {
  const ErrorScope scope(ErrorKind::input);
  std::vector<std::string_view> known;
  for (const InputField& field : pipeline.fields())
    known.insert(known.end(), field.names.begin(), field.names.end());
  known.insert(known.end(), others.begin(), others.end());
  expect_only(input, known);
  for (const auto& [names, required, is_list] : pipeline.fields())
    if (required && std::ranges::none_of(names, [&](std::string_view name) { return input.has({name}); }))
      fail("{}: expected a field {}, found {}", input.source(), fmt::join(names, " or "),
           shown(input.json()));
}

std::string text_of(const Fields& input) {
  const ErrorScope scope(ErrorKind::input);
  return input.text({"text", "sequence", "inputs"});
}

std::vector<std::string> texts_of(const std::vector<Fields>& inputs) {
  std::vector<std::string> texts;
  for (const Fields& input : inputs) texts.push_back(text_of(input));
  return texts;
}

}  // namespace attend
