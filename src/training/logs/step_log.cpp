#include "training/logs/step_log.h"

#include "base/error.h"
#include "base/file.h"

#include <algorithm>
#include <fstream>

namespace attend {
namespace {

std::optional<Json> parsed(std::string_view text) {
  try {
    Json line = parse_json(text, "");
    if (line.is_object() && line.contains("step") && line["step"].is_number_integer()) return line;
  } catch (const Error&) {
  }
  return {};
}

}  // namespace

StepLog::StepLog(std::filesystem::path path, std::int64_t step) : path_(std::move(path)) {
  std::string kept;
  for (const Json& line : read_step_log(path_))
    if (line["step"].get<std::int64_t>() <= step) kept += line.dump() + "\n";
  if (!kept.empty() || file_exists(path_)) write_file_atomically(path_, kept);
}

void StepLog::write(const Json& line) {
  std::ofstream out(path_, std::ios::app);
  out << line.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
  out.flush();
  if (!out) fail("{}: cannot be written; is the disk full?", path_.string());
}

std::vector<Json> read_step_log(const std::filesystem::path& path) {
  std::vector<Json> lines;
  if (!file_exists(path)) return lines;
  const std::string text = read_file(path);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (auto line = parsed(rest.substr(0, end))) lines.push_back(std::move(*line));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Json& a, const Json& b) {
    return a["step"].get<std::int64_t>() < b["step"].get<std::int64_t>();
  });
  return lines;
}

}  // namespace attend
