// The auxiliary files of a model, besides its weights and its config.json, so that a derived model loads in
// the same way.
#pragma once

#include <filesystem>

namespace attend {

// Copies the tokenizer's files, chat templates, preprocessor_config.json and sentence-transformers' files
// with the folders that modules.json names. Each file is written completely or not at all; files that `from`
// lacks are no error. PretrainedModel::save writes generation_config.json. Does nothing if both directories
// are the same. An Error if modules.json names a folder outside of `from`.
void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace attend
