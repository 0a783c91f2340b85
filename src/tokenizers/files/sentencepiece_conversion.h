// SentencePiece models as transformers makes a tokenizer.json of them for its fast tokenizers: close to what
// SentencePiece itself makes of a text, but what AutoTokenizer gives.
#pragma once

#include "tokenizers/files/json_tables.h"
#include "tokenizers/files/sentencepiece_tokens.h"

#include <string>

namespace attend::tokenizers {

// Not for families without a fast tokenizer, nor for models of whole words or of characters: those
// transformers reads with SentencePiece.
bool can_be_converted(const SentencePieceFamily& family, const SentencePieceFile& file);

TokenizerJson convert_sentencepiece(const SentencePieceFamily& family, const SentencePieceFile& file,
                                    const TokenizerConfig& config, TextSide side, const std::string& source);

}  // namespace attend::tokenizers
