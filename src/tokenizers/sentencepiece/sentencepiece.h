// SentencePiece model files as tokenizers: exactly what SentencePiece itself makes of a text, which
// `tokenizers` comes close to only.
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

// Whether a text may be cut into such pieces; an unused one then falls apart, or is unknown.
inline bool may_be_cut_out(SentencePieceFile::Type type) {
  using Type = SentencePieceFile::Type;
  return type == Type::normal || type == Type::user_defined || type == Type::unused;
}

// Which ids the pieces have.
struct PieceIds {
  Vocabulary vocabulary;
  std::vector<TokenId> ids;  // by piece; the unknown token's for what has no id of its own
  TokenId unknown = 0;
  // ALBERT, XLNet: a piece that ends with a digit and a comma is cut up again without the comma.
  bool split_digit_comma = false;
  // What is no piece may be in the vocabulary all the same: Marian's and M2M-100's are looked up by their
  // text.
  bool finds_texts = false;
};

// `fields` is what to_json() says about it; null: it cannot be written as a tokenizer.json.
std::unique_ptr<Model> make_sentencepiece_model(const SentencePieceFile& file, PieceIds ids, Json fields,
                                                const std::string& source);

// How pieces become a text again in transformers' slow tokenizers.
struct PieceJoining {
  bool by_model = true;    // decoded by the model, else put side by side
  bool before_run = true;  // a space in front of what stands before a special token, unless it is one too
  bool behind_special = false;      // a space behind each special token; and letters for spaces that remain
  bool bare_begin = false;          // no such space where the text begins
  bool drops_first_space = false;   // the first piece loses its own
  bool space_behind_first = false;  // a special token at the beginning has one behind it
  bool strips = true;               // both ends of the text
};
// `specials`: the tokens that are not the model's to decode.
std::unique_ptr<Decoder> make_piece_decoder(const SentencePieceFile& file, const PieceJoining& joining,
                                            std::set<std::string> specials);

// The merges of BPE are not in the file: two pieces merge if the two together are a piece, the sooner the
// higher its score. By rank; each merge is joined as in tokenizer.json, and pieces of the same score have the
// order of their first halves.
std::vector<std::pair<TokenId, TokenId>> sentencepiece_merges(const SentencePieceFile& file,
                                                              const PieceIds& ids);

}  // namespace attend::tokenizers
