#include "tokenizers/sentencepiece/word_borders.h"

#include <algorithm>
#include <bitset>

namespace attend::tokenizers {
using Type = SentencePieceFile::Type;

// Neighbours that are not pieces become one unknown token, so there is no border between two of them: one of
// the two characters must be a piece.
WordBorders::WordBorders(const std::vector<SentencePieceFile::Piece>& pieces) : may_part_(256 * 256) {
  std::bitset<256> known;  // characters of ASCII that are pieces
  bool knows_space = false;
  for (const SentencePieceFile::Piece& piece : pieces) {
    if (piece.type != Type::normal && piece.type != Type::user_defined) continue;
    if (piece.text.size() == 1) known[static_cast<unsigned char>(piece.text[0])] = true;
    knows_space = knows_space || piece.text == space;
  }
  for (std::size_t last = 0; last < 256; ++last)
    for (std::size_t next = 0; next < 0x80; ++next) may_part_[next << 8 | last] = known[last] || known[next];
  for (const SentencePieceFile::Piece& piece : pieces)
    if (may_be_cut_out(piece.type))
      for (std::size_t i = 1; i < piece.text.size(); ++i)
        may_part_[index(piece.text[i - 1], piece.text[i])] = 0;
  for (std::size_t last = 0; last < 256; ++last) may_part_[index(static_cast<char>(last), space[0])] = 1;
  any_ = knows_space &&
         std::none_of(pieces.begin(), pieces.end(), [this](const SentencePieceFile::Piece& piece) {
           return may_be_cut_out(piece.type) && Words(*this, piece.text).next().size() < piece.text.size();
         });
}

}  // namespace attend::tokenizers
