// The auxiliary files of a model, besides its weights and its config.json, so that a derived model loads in
// the same way.
#pragma once

#include <filesystem>

namespace attend {

// Copies the tokenizer's files, chat templates, how pictures are prepared (preprocessor_config.json) and
// sentence-transformers' files with the folders that modules.json names; each is complete under its name or
// not there, and what `from` does not have is no error. generation_config.json is PretrainedModel::save's.
// Nothing happens if both are the same directory. Error if modules.json names a folder outside of `from`.
void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace attend
