// run.html: what a run was asked, what it was given, how it went and what the model says, on one page that
// needs neither a network nor scripts. Scripts only add values under the pointer.
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

// Writes `output`/run.html anew, with the curves of metrics.jsonl and the texts of samples.jsonl there.
//
// A figure "train/loss" is the curve `train` of the chart `loss`. Values that are not finite are left out.
// All text is escaped, and the page forbids whatever is not its own style and script
// (Content-Security-Policy).
void write_report(const std::filesystem::path& output, const Report& report);

}  // namespace attend
