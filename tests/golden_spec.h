// The spec of a golden network (test_data.h), without its weights: it determines which tests apply.
#pragma once

#include "models/families/family.h"
#include "test_data.h"

namespace attend {

inline ModelSpec golden_spec(const std::string& name) {
  const Fields config = ModelDirectory(test_data() / "models" / name).config();
  return find_family(config).spec(config, config.json().at("architectures").at(0).get<std::string>());
}

}  // namespace attend
