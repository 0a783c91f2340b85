// The tokens of a family that uses a SentencePiece model: their ids, and which are special.
#pragma once

#include <attend/tokenizer.h>

#include "formats/sentencepiece.h"
#include "tokenizers/files/sentencepiece_families.h"
#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/sentencepiece/sentencepiece.h"

#include <filesystem>
#include <string>
#include <vector>

namespace attend::tokenizers {

struct ScoredToken {
  std::string text;
  double score = 0;
};

// The id of unknown text.
TokenId unknown_id(const SentencePieceFamily& family, const SentencePieceFile& file);

// By id, unless the ids are in a vocab.json. If a text occurs twice, the last one counts.
std::vector<ScoredToken> scored_tokens(const SentencePieceFamily& family, const SentencePieceFile& file,
                                       const TokenizerConfig& config);
// `model`: the path of the file.
PieceIds piece_ids(const SentencePieceFamily& family, const SentencePieceFile& file,
                   const TokenizerConfig& config, const std::filesystem::path& model,
                   const std::string& unknown);

// In the order in which transformers adds them.
std::vector<TokenizerConfig::Token> special_tokens(const SentencePieceFamily& family,
                                                   const TokenizerConfig& config);
// The token for the language of this side's texts.
std::string language_token(const SentencePieceFamily& family, const TokenizerConfig& config, TextSide side);

}  // namespace attend::tokenizers
