// The language of a file, for models that know the language of a token (XLM).
#pragma once

#include "objectives/registry.h"

namespace attend {

// The language of each of setting.files, by its number: as the recipe names it, else by the file's ending
// (train.en). Empty where the model has no vectors for languages. Error if config.json's lang2id has no such
// language, or the recipe names some for a model without.
std::vector<std::int64_t> file_languages(const Setting& setting);

}  // namespace attend
