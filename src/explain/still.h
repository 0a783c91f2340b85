// A still picture of one view, as SVG, for papers and docs.
#pragma once

#include "explain/explanation.h"

#include <filesystem>

namespace attend {

enum class StillView { heads, model, neuron };

struct StillOptions {
  StillView view = StillView::heads;
  std::string attention = {};  // its name; empty: the first
  std::int64_t layer = 0;
  std::vector<std::int64_t> heads = {};    // empty: all; neuron: only the first
  std::optional<std::int64_t> token = {};  // heads: only its lines; neuron: the query (default: the first)
};

std::string draw_still(const Explanation& explanation, const StillOptions& options);
void write_still(const Explanation& explanation, const StillOptions& options,
                 const std::filesystem::path& path);

}  // namespace attend
