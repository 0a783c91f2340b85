// The fields of a generation config as data (formats/options/option.h): how they are read from JSON, flags of
// the command line, parameters of pipelines, fields of the server's requests, tables of docs/options.md.
#pragma once

#include <attend/generation_config.h>

#include "formats/options/option.h"

namespace attend {

// All fields, by subject. They set members of `config`, which must outlive them.
std::vector<OptionGroup> option_groups(GenerationConfig& config);
// The same without titles.
Options options_of(GenerationConfig& config);

// The same of a config that nothing reads: for names, schemas and descriptions. The schemas have no defaults,
// because every model has its own.
const std::vector<OptionGroup>& generation_fields();

}  // namespace attend
