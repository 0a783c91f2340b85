// The small files of a model directory.
#pragma once

#include "formats/json.h"

#include <filesystem>
#include <string>

namespace attend {

// A file of this very directory: a hostile index must not lead out of it.
std::filesystem::path inside(const std::filesystem::path& directory, const std::string& name,
                             const std::string& source);
Fields read_fields(const std::filesystem::path& path);
// Is a checkpoint of Hugging Face's in it, whole or in shards?
bool holds_checkpoint(const std::filesystem::path& directory);
// A file that may be absent: then no field is there.
Fields read_optional_fields(const std::filesystem::path& path);

}  // namespace attend
