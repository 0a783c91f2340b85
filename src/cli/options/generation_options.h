// Options for fields of a generation config.
#pragma once

#include "formats/json/json.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace attend::cli {

// `fields` gets the given options; it must live as long as the parser.
void add_generation_options(CLI::App& app, Json& fields);
// Only those of the named fields.
void add_generation_options(CLI::App& app, Json& fields, const std::vector<std::string>& names);

// --src-lang and --tgt-lang, both or neither.
void add_languages(CLI::App& app, std::string& source, std::string& target);

}  // namespace attend::cli
