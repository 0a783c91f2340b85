#include "training/logs/metrics_log.h"

#include <cmath>

namespace attend {

MetricsLog::MetricsLog(const std::filesystem::path& directory, std::int64_t step)
    : lines_(directory / "metrics.jsonl", step), events_(directory / "tensorboard") {}

void MetricsLog::write(std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  Json line = {{"step", step}};
  for (const auto& [name, value] : values) {
    line[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
    events_.scalar(name, step, value);
  }
  events_.flush();
  lines_.write(line);
}

}  // namespace attend
