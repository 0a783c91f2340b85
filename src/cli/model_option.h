// The model of a verb, and the adapters beside it.
#pragma once

#include <attend/model_path.h>

#include <CLI/CLI.hpp>

namespace attend::cli {

// DIR or DIR=SHARE.
AdapterPath read_adapter(const std::string& given);
// The argument MODEL, and --adapter DIR or --adapter DIR=SHARE, any number of times.
void add_model(CLI::App& app, ModelPath& model);
void add_adapters(CLI::App& app, std::vector<AdapterPath>& adapters);

}  // namespace attend::cli
