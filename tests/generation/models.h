// The two small random models of tests/data/models that generate.
#pragma once

#include "models/model.h"

#include <filesystem>

namespace attend {

inline std::filesystem::path model_path(const std::string& name) {
  return std::filesystem::path(ATTEND_TEST_DATA) / "models" / name;
}

inline Model load_model(const std::string& name) {
  return Model::load(ModelDirectory(model_path(name)), Purpose::inference);
}

// Of different lengths, with ids of either model's vocabulary that neither end nor pad.
inline std::vector<std::vector<std::int64_t>> make_prompts(std::size_t count) {
  std::vector<std::vector<std::int64_t>> prompts;
  for (std::size_t i = 0; i < count; ++i) {
    prompts.emplace_back();
    for (std::size_t j = 0; j < 1 + i * 5 % 11; ++j)
      prompts.back().push_back(static_cast<std::int64_t>(2 + (7 * i + 3 * j * j) % 37));
  }
  return prompts;
}

}  // namespace attend
