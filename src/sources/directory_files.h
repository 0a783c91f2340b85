// The small files of a model directory.
#pragma once

#include "formats/json/json.h"

#include <filesystem>
#include <string>

namespace attend {

// The path of a file directly in this directory: a hostile index must not lead out of it.
std::filesystem::path inside(const std::filesystem::path& directory, const std::string& name,
                             const std::string& source);
Fields read_fields(const std::filesystem::path& path);
// Whether it contains a Hugging Face checkpoint, whole or in shards.
bool holds_checkpoint(const std::filesystem::path& directory);
// The fields of a file that may be missing; then there are none.
Fields read_optional_fields(const std::filesystem::path& path);

}  // namespace attend
