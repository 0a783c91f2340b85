// The files that tests read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attend {

// tests/data. Only one object file contains the path, so that all others are the same in every checkout and a
// compiler cache works.
std::filesystem::path test_data();

// The tiny networks of tests/data/models, one or more of every family, by the names of their folders, sorted.
std::vector<std::string> golden_networks();

}  // namespace attend
