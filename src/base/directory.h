// Directories that are written to.
#pragma once

#include <filesystem>

namespace attend {

// Makes the directory and those above it, as far as they are missing. Error if it cannot be made, for example
// because a file has its name.
void make_directories(const std::filesystem::path& directory);

// Error if there is a model, or a part of one, in the directory, or if it is a file. For what writes a new
// model and must not write over another one.
void expect_no_model(const std::filesystem::path& directory);

}  // namespace attend
