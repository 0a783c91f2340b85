// Makes a model from some layers of another: the initial student in distillation (Sanh et al. 2019,
// "DistilBERT", arXiv:1910.01108, section 3: every other layer).
#pragma once

#include "sources/model_directory.h"

#include <vector>

namespace attend {

// Writes a model directory with these layers of each stack, numbered from 0, in this order; everything else
// is unchanged. An Error for a layer that a stack does not have, and for a family whose layers share weights
// (ALBERT) or whose config.json describes each layer (GPT-Neo).
void shrink_model(const ModelDirectory& from, const std::vector<std::int64_t>& layers,
                  const std::filesystem::path& to);

}  // namespace attend
