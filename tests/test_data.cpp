#include "test_data.h"

#include <attend/log.h>

#include <algorithm>

namespace attend {
namespace {

// Tests search for warnings on standard error, where the command writes them.
[[maybe_unused]] const bool logs = (log_to_standard_error(), true);

}  // namespace

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
