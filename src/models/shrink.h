// Makes a model from some layers of another: the initial student in distillation (Sanh et al. 2019,
// "DistilBERT", arXiv:1910.01108, section 3: every other layer).
#pragma once

#include "formats/model_directory.h"

#include <vector>

namespace attend {

// Writes a model directory: of each stack these layers, numbered from 0, in this order; everything else as it
// is. Error for a layer that a stack does not have, and for a family whose layers share weights (ALBERT) or
// whose config.json says what each of them is (GPT-Neo).
void shrink_model(const ModelDirectory& from, const std::vector<std::int64_t>& layers,
                  const std::filesystem::path& to);

}  // namespace attend
