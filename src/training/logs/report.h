// run.html: the settings of a run, its data, its curves and samples of the model's output, on one page that
// needs no network and no scripts. Scripts only show values under the pointer.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace attend {

struct Report {
  std::string title;
  std::vector<std::pair<std::string, std::string>> recipe, data;  // name and value
  std::string state;                                              // "training", "finished", "stopped: ..."
};

// Rewrites `output`/run.html, with the curves of metrics.jsonl and the texts of samples.jsonl there.
//
// A metric "train/loss" is the curve `train` of the chart `loss`. Values that are not finite are left out.
// All text is escaped, and the page forbids everything except its own style and script
// (Content-Security-Policy).
void write_report(const std::filesystem::path& output, const Report& report);

}  // namespace attend
