#include "cli/run_inputs.h"

#include "base/error.h"
#include "base/utf8.h"

#include <algorithm>
#include <iostream>

#include <fmt/ranges.h>
#include <unistd.h>

namespace attend::cli {
namespace {

// Enough to make full batches of, few enough that answers come soon.
constexpr std::size_t kAtATime = 256;
constexpr const char* kStandardInput = "standard input";

void check_utf8(const std::string& text, const std::string& place) {
  if (const auto at = find_invalid_utf8(text)) fail("{}: invalid UTF-8 at byte {}", place, *at);
}

std::vector<Fields> from_arguments(const std::vector<std::string>& texts, const Task& task) {
  for (const std::string& text : texts) check_utf8(text, "argument '" + text + "'");
  std::vector<Fields> inputs;
  for (Json& input : task.from_texts(texts))
    inputs.emplace_back(std::move(input), "text " + std::to_string(inputs.size() + 1));
  return inputs;
}

}  // namespace

InputReader::InputReader(const InputOptions& options, const Task& task)
    : task_(task),
      format_(options.format.value_or(task.reads_lines() ? InputFormat::lines : InputFormat::json)),
      columns_(options.columns),
      lines_(std::cin, kStandardInput),
      standard_input_(options.texts.empty()) {
  if (options.format && !standard_input_)
    fail("--input-format is about standard input, and there are {} texts as arguments", options.texts.size());
  if (format_ == InputFormat::lines && !task.reads_lines())
    fail("an input of this task is more than a text: expected --input-format json, csv or tsv");
  const bool table = format_ == InputFormat::csv || format_ == InputFormat::tsv;
  if (!columns_.empty() && !table)
    fail("--column names the columns of a table: expected --input-format csv or tsv");
  if (!standard_input_)
    given_ = from_arguments(options.texts, task);
  else if (table)
    table_.emplace(std::cin, format_ == InputFormat::tsv ? RecordReader::Form::tsv : RecordReader::Form::csv,
                   kStandardInput);
}

std::vector<Fields> InputReader::next() {
  if (standard_input_) {
    const std::size_t most = isatty(STDIN_FILENO) != 0 ? 1 : kAtATime;
    std::vector<Fields> inputs;
    while (inputs.size() < most) {
      std::optional<Fields> input = table_ ? read_record() : read_line();
      if (!input) break;
      inputs.push_back(std::move(*input));
    }
    return inputs;
  }
  const std::size_t count = std::min(kAtATime, given_.size() - at_);
  const auto first = given_.begin() + static_cast<std::ptrdiff_t>(at_);
  at_ += count;
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

std::optional<Fields> InputReader::read_line() {
  const std::optional<std::string> found = lines_.next();
  if (!found) return {};
  const std::string& line = *found;
  std::string place = lines_.place();
  check_utf8(line, place);
  Json input = format_ == InputFormat::json ? parse_json(line, place) : Json(line);
  if (input.is_string()) input = task_.from_texts({input.get<std::string>()}).front();
  return Fields(std::move(input), std::move(place));
}

// Columns take the names of the fields that are to be read from them.
void InputReader::read_header() {
  header_ = table_->next().value_or(std::vector<std::string>());
  if (header_.empty())
    fail("{}: expected a table whose first line names its columns, found nothing", kStandardInput);
  const std::vector<std::string> names = header_;
  for (const auto& [field, column] : columns_) {
    const auto found = std::ranges::find(names, column);
    if (found == names.end())
      fail("{}: there is no column '{}'; these are: {}", table_->place(), column, fmt::join(names, ", "));
    // A column that has the field's name by chance is another thing.
    std::ranges::replace(header_, field, std::string());
    header_[static_cast<std::size_t>(found - names.begin())] = field;
  }
}

std::optional<Fields> InputReader::read_record() {
  if (header_.empty()) read_header();
  const auto record = table_->next();
  if (!record) return {};
  const std::string place = table_->place();
  if (record->size() != header_.size())
    fail("{}: expected {} columns, as the first line has, found {}", place, header_.size(), record->size());
  Json input = Json::object();
  for (std::size_t i = 0; i < header_.size(); ++i) {
    check_utf8((*record)[i], place);
    if (!header_[i].empty()) input[header_[i]] = (*record)[i];
  }
  return Fields(std::move(input), place);
}

}  // namespace attend::cli
