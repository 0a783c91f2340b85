// What an option of the command line takes, as the schema of a request's field.
#pragma once

#include "formats/json.h"

#include <CLI/CLI.hpp>

namespace attend::cli {

Json option_schema(const CLI::Option& option);

}  // namespace attend::cli
