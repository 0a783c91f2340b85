// Finds the architecture of a checkpoint by its tensors, if config.json names none.
#pragma once

#include "models/families/family.h"
#include "models/families/head.h"
#include "sources/model_directory.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attend {

class Adapter;

// Selects among the family's architectures whose tensors all exist (in the checkpoint, or replaced by an
// adapter): one with the head `wanted`, else the one that leaves out the fewest of the checkpoint's tensors;
// of several, the family's first. If none is complete, the family's first.
std::string found_architecture(const Family& family, const Fields& config, const WeightFiles& checkpoint,
                               const std::vector<std::shared_ptr<Adapter>>& adapters = {},
                               std::optional<Head> wanted = {});

// The architecture to load the directory with for a task that needs this head. Empty, which means that of
// config.json, unless config.json names none.
std::string architecture_with(const ModelDirectory& directory, Head head);

}  // namespace attend
