// SentencePiece model files as tokenizers, with exactly the results of SentencePiece itself, which
// `tokenizers` only approximates.
#pragma once

#include "formats/sentencepiece.h"
#include "tokenizers/models/model.h"
#include "tokenizers/steps/decoder.h"
#include "tokenizers/steps/normalizer.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace attend::tokenizers {

std::unique_ptr<Normalizer> make_sentencepiece_normalizer(const SentencePieceFile& file,
                                                          const std::string& source);

// Whether a text may be divided into such pieces; an unused piece is then split, or is unknown.
inline bool may_be_cut_out(SentencePieceFile::Type type) {
  using Type = SentencePieceFile::Type;
  return type == Type::normal || type == Type::user_defined || type == Type::unused;
}

// The ids of the pieces.
struct PieceIds {
  Vocabulary vocabulary;
  std::vector<TokenId> ids;  // by piece; the unknown token's id for pieces without their own
  TokenId unknown = 0;
  // ALBERT, XLNet: a piece that ends with a digit and a comma is divided again without the comma.
  bool split_digit_comma = false;
  // Whether text that is not a piece is looked up in the vocabulary (Marian, M2M-100).
  bool finds_texts = false;
};

// `fields`: the description in to_json(); null: it cannot be written as a tokenizer.json.
std::unique_ptr<Model> make_sentencepiece_model(const SentencePieceFile& file, PieceIds ids, Json fields,
                                                const std::string& source);

// How transformers' slow tokenizers join pieces to a text.
struct PieceJoining {
  bool by_model = true;    // decoded by the model, else concatenated
  bool before_run = true;  // a space before the run before a special token, unless that is a special token
                           // too
  bool behind_special = false;      // a space after each special token; remaining visible spaces become
                                    // spaces
  bool bare_begin = false;          // no such space at the beginning of the text
  bool drops_first_space = false;   // the first piece loses its own space
  bool space_behind_first = false;  // a space after a special token at the beginning
  bool strips = true;               // strips both ends of the text
};
// `specials`: the tokens that the model does not decode.
std::unique_ptr<Decoder> make_piece_decoder(const SentencePieceFile& file, const PieceJoining& joining,
                                            std::set<std::string> specials);

// The merges of BPE are not in the file: two pieces merge if their concatenation is a piece, higher scores
// first. By rank; each merge is joined as in tokenizer.json, and pieces with the same score are in the order
// of their first halves.
std::vector<std::pair<TokenId, TokenId>> sentencepiece_merges(const SentencePieceFile& file,
                                                              const PieceIds& ids);

}  // namespace attend::tokenizers
