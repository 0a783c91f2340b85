#include "training/logs/sample_log.h"

namespace attend {
namespace {

constexpr const char* kFile = "samples.jsonl";

}  // namespace

SampleLog::SampleLog(const std::filesystem::path& directory, std::int64_t step)
    : lines_(directory / kFile, step) {}

void SampleLog::write(std::int64_t step, std::span<const Sample> samples) {
  Json list = Json::array();
  for (const Sample& sample : samples)
    list.push_back({{"input", sample.input}, {"expected", sample.expected}, {"said", sample.said}});
  lines_.write({{"step", step}, {"samples", list}});
}

std::vector<SampledStep> read_samples(const std::filesystem::path& directory) {
  std::vector<SampledStep> steps;
  const auto text = [](const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (const Json& line : read_step_log(directory / kFile)) {
    SampledStep& at = steps.emplace_back(line["step"].get<std::int64_t>(), std::vector<Sample>());
    if (!line.contains("samples") || !line["samples"].is_array()) continue;
    for (const Json& sample : line["samples"])
      if (sample.is_object())
        at.samples.push_back({text(sample, "input"), text(sample, "expected"), text(sample, "said")});
  }
  return steps;
}

}  // namespace attend
