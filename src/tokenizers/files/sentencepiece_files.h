// Directories with SentencePiece models instead of a tokenizer.json, as transformers' slow tokenizers read
// them.
#pragma once

#include <attend/tokenizer.h>

#include "tokenizers/files/json_tables.h"

#include <filesystem>
#include <optional>

namespace attend::tokenizers {

// The model that a directory's text is encoded with; nothing: it has none.
std::optional<std::filesystem::path> find_sentencepiece(const std::filesystem::path& directory,
                                                        TextSide side);
// Whether the directory names a language of the target, which then begins its text (M2M-100).
bool has_target_language(const std::filesystem::path& directory);

// mBART's templates name the language of a side, whatever the tokenizer.json of the directory says.
void set_language(TokenizerJson& json, const std::filesystem::path& directory, TextSide side);

// `model` with the files beside it, which say what family it is of and which tokens are special.
TokenizerJson read_sentencepiece_files(const std::filesystem::path& model, TextSide side);

}  // namespace attend::tokenizers
