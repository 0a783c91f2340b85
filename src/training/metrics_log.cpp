#include "training/metrics_log.h"

#include "base/error.h"
#include "base/file.h"
#include "formats/json.h"

#include <cmath>
#include <fstream>

namespace attend {

MetricsLog::MetricsLog(const std::filesystem::path& directory, std::int64_t step)
    : path_(directory / "metrics.jsonl"), events_(directory / "tensorboard") {
  std::string kept;
  if (std::filesystem::exists(path_))
    for (const std::string& line : read_lines(path_)) {
      const Json entry = Json::parse(line, nullptr, false);
      if (entry.is_object() && entry.contains("step") && entry["step"].is_number_integer() &&
          entry["step"].get<std::int64_t>() <= step)
        kept += line + "\n";
    }
  write_file_atomically(path_, kept);
}

void MetricsLog::write(std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  Json line = {{"step", step}};
  for (const auto& [name, value] : values) {
    line[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
    events_.scalar(name, step, value);
  }
  events_.flush();
  std::ofstream out(path_, std::ios::app);
  out << line.dump() << "\n";
  out.flush();
  if (!out) fail("{}: cannot be written; is the disk full?", path_.string());
}

}  // namespace attend
