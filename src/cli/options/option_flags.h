// Options that are data (formats/options/option.h) as flags: top_k is --top-k.
#pragma once

#include "formats/options/option.h"

#include <CLI/CLI.hpp>

namespace attend::cli {

CLI::Option* add_option(CLI::App& app, const Option& option);
// The same for an option whose value is one argument, in JSON where the schema allows more than texts.
CLI::Option* add_value(CLI::App& app, const Option& option);
// All names of the option as flags, separated by commas.
std::string flags_of(const Option& option);
// Whether the schema allows a list.
bool is_list(const Json& schema);
// An option comes after those that it excludes.
// `title`: the heading in --help; empty: the usual one.
void add_options(CLI::App& app, const Options& options, const std::string& title = "");

}  // namespace attend::cli
