// A still picture of one view, as SVG, for papers and docs.
#pragma once

#include <attend/explain.h>

#include "explain/explanation.h"

#include <filesystem>

namespace attend {

std::string draw_still(const Explanation& explanation, const StillOptions& options);
void write_still(const Explanation& explanation, const StillOptions& options,
                 const std::filesystem::path& path);

}  // namespace attend
