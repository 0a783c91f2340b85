// The language of a file, for models that know the language of a token (XLM).
#pragma once

#include "objectives/base/registry.h"

namespace attend {

// The language of each of setting.files, as an index: from the recipe, or from the file's ending (train.en).
// Empty if the model has no language vectors. Throws Error if config.json's lang2id has no such language, or
// if the recipe names languages for a model without them.
std::vector<std::int64_t> file_languages(const Setting& setting);

}  // namespace attend
