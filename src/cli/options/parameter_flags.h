// The parameters of a pipeline as flags: top_k is --top-k.
#pragma once

#include "pipelines/parameters.h"

#include <CLI/CLI.hpp>

namespace attend::cli {

CLI::Option* add_parameter(CLI::App& app, const PipelineParameter& parameter);
// A parameter comes after those that it excludes.
void add_parameters(CLI::App& app, const PipelineParameters& parameters);

}  // namespace attend::cli
