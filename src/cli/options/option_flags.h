// Options that are data (formats/options/option.h) as flags: top_k is --top-k.
#pragma once

#include "formats/options/option.h"

#include <CLI/CLI.hpp>

namespace attend::cli {

CLI::Option* add_option(CLI::App& app, const Option& option);
// An option comes after those that it excludes.
// `title`: the heading in --help; empty: the usual one.
void add_options(CLI::App& app, const Options& options, const std::string& title = "");

}  // namespace attend::cli
