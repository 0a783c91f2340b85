// Reads directories with SentencePiece models instead of a tokenizer.json, like transformers' slow
// tokenizers.
#pragma once

#include <attend/tokenizer.h>

#include "tokenizers/files/json_tables.h"

#include <filesystem>
#include <optional>

namespace attend::tokenizers {

// The model for a directory's texts of this side; none: this side has no model.
std::optional<std::filesystem::path> find_sentencepiece(const std::filesystem::path& directory,
                                                        TextSide side);
// Whether the directory names a target language, whose token then begins the target (M2M-100).
bool has_target_language(const std::filesystem::path& directory);

// mBART's templates contain the language of a side, and ignore the directory's tokenizer.json.
void set_language(TokenizerJson& json, const std::filesystem::path& directory, TextSide side);

// `model` with the files next to it, which determine its family and its special tokens.
TokenizerJson read_sentencepiece_files(const std::filesystem::path& model, TextSide side);

}  // namespace attend::tokenizers
