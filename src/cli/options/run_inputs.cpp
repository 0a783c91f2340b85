#include "cli/options/run_inputs.h"

#include "base/error.h"
#include "base/utf8.h"
#include "cli/options/bad_inputs.h"

#include <algorithm>
#include <iostream>

#include <fmt/ranges.h>
#include <unistd.h>

namespace attend::cli {
namespace {

// Enough for full batches, few enough for early answers.
constexpr std::size_t kAtATime = 256;
constexpr const char* kStandardInput = "standard input";

std::vector<std::string_view> names_of(const Pipeline& task) {
  std::vector<std::string_view> names;
  for (const InputField& field : task.fields())
    names.insert(names.end(), field.names.begin(), field.names.end());
  names.push_back("adapter");
  return names;
}

void check_utf8(const std::string& text) {
  if (const auto at = find_invalid_utf8(text)) fail("invalid UTF-8 at byte {}", *at);
}

}  // namespace

InputReader::InputReader(const InputOptions& options, const Pipeline& task)
    : task_(task),
      format_(options.format.value_or(task.reads_lines() ? InputFormat::lines : InputFormat::json)),
      columns_(options.columns),
      lines_(std::cin, kStandardInput),
      standard_input_(options.texts.empty()) {
  if (options.format && !standard_input_)
    fail("--input-format applies to standard input, but {} texts are arguments", options.texts.size());
  if (format_ == InputFormat::lines && !task.reads_lines())
    fail("an input of this task is more than a text: expected --input-format json, csv or tsv");
  const bool table = format_ == InputFormat::csv || format_ == InputFormat::tsv;
  if (!columns_.empty() && !table)
    fail("--column names the columns of a table: expected --input-format csv or tsv");
  if (table)
    table_.emplace(std::cin, format_ == InputFormat::tsv ? RecordReader::Form::tsv : RecordReader::Form::csv,
                   kStandardInput);
  if (standard_input_) return;
  const std::vector<Json> inputs = task.from_texts(options.texts);
  for (const Json& input : inputs)
    given_.push_back(read(inputs.size() == 1 ? "the text" : fmt::format("text {}", given_.size() + 1), [&] {
      for (const Json& value : input)
        if (value.is_string()) check_utf8(value.get<std::string>());
      return input;
    }));
}

std::vector<RunInput> InputReader::next() {
  if (failed_) std::rethrow_exception(failed_);
  if (standard_input_) {
    const std::size_t max = isatty(STDIN_FILENO) != 0 ? 1 : kAtATime;
    std::vector<RunInput> inputs;
    try {
      while (inputs.size() < max) {
        std::optional<RunInput> input = table_ ? read_record() : read_line();
        if (!input) break;
        inputs.push_back(std::move(*input));
      }
    } catch (const Error&) {
      if (inputs.empty()) throw;
      failed_ = std::current_exception();
    }
    return inputs;
  }
  const std::size_t count = std::min(kAtATime, given_.size() - at_);
  const auto first = given_.begin() + static_cast<std::ptrdiff_t>(at_);
  at_ += count;
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

RunInput InputReader::read(std::string place, const std::function<Json()>& parse) const {
  constexpr std::string_view kOthers[] = {"adapter"};
  const ErrorScope scope(ErrorKind::input);
  RunInput input{std::move(place), {}};
  try {
    Fields fields(parse(), input.place);
    check_fields(fields, task_, kOthers);
    input.adapter = fields.maybe_integer({"adapter"}, -1);
    input.fields = std::move(fields);
  } catch (const Error& error) {
    input.error = name_input(input.place, error.what());
  }
  return input;
}

std::optional<RunInput> InputReader::read_line() {
  const std::optional<std::string> line = lines_.next();
  if (!line) return {};
  const std::string place = lines_.place();
  return read(place, [&] {
    check_utf8(*line);
    Json input = format_ == InputFormat::json ? parse_json(*line, place) : Json(*line);
    return input.is_string() ? task_.from_texts({input.get<std::string>()}).front() : input;
  });
}

// Renames columns to the fields that are read from them.
void InputReader::read_header() {
  header_ = table_->next().value_or(std::vector<std::string>());
  if (header_.empty())
    fail("{}: expected a table whose first line names its columns, found nothing", kStandardInput);
  const std::vector<std::string> names = header_;
  const std::vector<std::string_view> fields = names_of(task_);
  for (const auto& [field, column] : columns_) {
    if (std::ranges::find(fields, field) == fields.end())
      fail("--column {}={}: there is no field {}: expected {}", field, column, field,
           fmt::join(fields, ", "));
    const auto found = std::ranges::find(names, column);
    if (found == names.end())
      fail("{}: there is no column '{}'; these are: {}", table_->place(), column, fmt::join(names, ", "));
    // A column that happens to have the field's name has another meaning.
    std::ranges::replace(header_, field, std::string());
    header_[static_cast<std::size_t>(found - names.begin())] = field;
  }
  for (std::string& name : header_)
    if (std::ranges::find(fields, name) == fields.end()) name.clear();
  for (const auto& [any, required, is_list] : task_.fields())
    if (required && std::ranges::find_first_of(header_, any) == header_.end())
      fail("{}: expected a column {}, found {}; name the column that has it with --column {}=COLUMN",
           table_->place(), fmt::join(any, " or "), shown(Json(fmt::format("{}", fmt::join(names, ", ")))),
           any.front());
}

std::optional<RunInput> InputReader::read_record() {
  if (header_.empty()) read_header();
  const auto record = table_->next();
  if (!record) return {};
  return read(table_->place(), [&] {
    if (record->size() != header_.size())
      fail("expected {} columns, as the first line has, found {}", header_.size(), record->size());
    Json input = Json::object();
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (header_[i].empty()) continue;
      check_utf8((*record)[i]);
      input[header_[i]] = (*record)[i];
    }
    return input;
  });
}

}  // namespace attend::cli
