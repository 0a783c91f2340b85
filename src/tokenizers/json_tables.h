// Reads a tokenizer.json: the vocabulary and the merges, which may have hundreds of thousands of entries, go
// straight into their tables; everything else becomes a JSON tree.
#pragma once

#include "formats/json.h"
#include "tokenizers/model.h"

#include <string>
#include <string_view>

namespace attend::tokenizers {

struct TokenizerJson {
  Json fields;  // the whole file, but for model.vocab and model.merges
  ModelTables tables;
};

// `source` names the file in errors.
TokenizerJson read_tokenizer_json(std::string_view text, const std::string& source);

}  // namespace attend::tokenizers
