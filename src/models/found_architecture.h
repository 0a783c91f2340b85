// Finds the architecture of a checkpoint by its tensors, if config.json names none.
#pragma once

#include "formats/model_directory.h"
#include "models/family.h"
#include "models/head.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attend {

class Adapter;

// Of the family's architectures whose tensors are all there (in the checkpoint, or in an adapter in their
// place) one with the head that is `wanted`, else the one that leaves the fewest of the checkpoint's out; of
// several the family's first. Where none is complete, the family's first.
std::string found_architecture(const Family& family, const Fields& config, const WeightFiles& checkpoint,
                               const std::vector<std::shared_ptr<Adapter>>& adapters = {},
                               std::optional<Head> wanted = {});

// What to load the directory as for a task that needs this head: empty, which is what its config.json names,
// unless that names none.
std::string architecture_with(const ModelDirectory& directory, Head head);

}  // namespace attend
