// Output directories.
#pragma once

#include <filesystem>

namespace attend {

// Creates the directory and its missing parents. Throws Error if it cannot be created, for example because a
// file has its name.
void make_directories(const std::filesystem::path& directory);

// Throws Error if the directory contains a model or a part of one, or is a file. Call it before writing a new
// model, which must not overwrite another.
void expect_no_model(const std::filesystem::path& directory);

}  // namespace attend
