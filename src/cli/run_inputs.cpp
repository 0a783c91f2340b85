#include "cli/run_inputs.h"

#include "base/error.h"
#include "base/utf8.h"

#include <algorithm>
#include <iostream>

#include <unistd.h>

namespace attend::cli {
namespace {

// Enough to make full batches of, few enough that answers come soon.
constexpr std::size_t kAtATime = 256;

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
    : task_(task), json_(options.json || !task.reads_lines()), standard_input_(options.texts.empty()) {
  if (options.json && !standard_input_)
    fail("--json-input is about lines of standard input, and there are {} texts as arguments",
         options.texts.size());
  if (!standard_input_) given_ = from_arguments(options.texts, task);
}

std::vector<Fields> InputReader::next() {
  if (standard_input_) return read_lines();
  const std::size_t count = std::min(kAtATime, given_.size() - at_);
  const auto first = given_.begin() + static_cast<std::ptrdiff_t>(at_);
  at_ += count;
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

std::vector<Fields> InputReader::read_lines() {
  const std::size_t most = isatty(STDIN_FILENO) != 0 ? 1 : kAtATime;
  std::vector<Fields> inputs;
  for (std::string line; inputs.size() < most && std::getline(std::cin, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const std::string place = fmt::format("standard input, line {}", ++at_);
    check_utf8(line, place);
    Json input = json_ ? parse_json(line, place) : Json(line);
    if (input.is_string()) input = task_.from_texts({input.get<std::string>()}).front();
    inputs.emplace_back(std::move(input), place);
  }
  return inputs;
}

}  // namespace attend::cli
