// Converts SentencePiece models to a tokenizer.json like transformers does for its fast tokenizers. The
// result is close to SentencePiece's own, and the same as AutoTokenizer's.
#pragma once

#include "tokenizers/files/json_tables.h"
#include "tokenizers/files/sentencepiece_tokens.h"

#include <string>

namespace attend::tokenizers {

// Not for families without a fast tokenizer, nor for word or character models: transformers reads those with
// SentencePiece.
bool can_be_converted(const SentencePieceFamily& family, const SentencePieceFile& file);

TokenizerJson convert_sentencepiece(const SentencePieceFamily& family, const SentencePieceFile& file,
                                    const TokenizerConfig& config, TextSide side, const std::string& source);

}  // namespace attend::tokenizers
