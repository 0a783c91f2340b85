// The files that tests read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attend {

// tests/data. One object knows where that is, so that all others are the same in every checkout and a
// compiler's cache serves them.
std::filesystem::path test_data();

// The tiny networks of tests/data/models, one or more of every family, by the names of their folders, in
// order.
std::vector<std::string> golden_networks();

}  // namespace attend
