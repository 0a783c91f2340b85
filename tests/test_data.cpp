#include "test_data.h"

#include <algorithm>

namespace attend {

std::filesystem::path test_data() {
  return ATTEND_TEST_DATA;
}

std::vector<std::string> golden_networks() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / "models"))
    if (exists(entry.path() / "model.safetensors")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace attend
