// Options that stand for fields of a generation config.
#pragma once

#include "formats/json.h"

#include <CLI/CLI.hpp>

namespace attend::cli {

// `fields` gets those that are given; it must live as long as the parser.
void add_generation_options(CLI::App& app, Json& fields);

}  // namespace attend::cli
