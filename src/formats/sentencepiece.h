// SentencePiece model files (spiece.model, sentencepiece.bpe.model, *.spm): the pieces, and the normalization
// of text. The format is a protocol buffer, sentencepiece_model.proto.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

struct SentencePieceFile {
  enum class Kind { unigram = 1, bpe = 2, word = 3, character = 4 };
  enum class Type { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::normal;
  };

  Kind kind = Kind::unigram;
  std::vector<Piece> pieces;
  std::size_t unknown = 0;     // the piece of type unknown
  bool byte_fallback = false;  // unknown characters become the pieces of their bytes
  // The space is at the end of a word, not at its beginning.
  bool whitespace_as_suffix = false;

  std::string charsmap;  // normalization rules; may be empty
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
};

// Errors name `source`, the piece and the cause.
SentencePieceFile parse_sentencepiece(std::string_view bytes, const std::string& source);
SentencePieceFile read_sentencepiece(const std::filesystem::path& path);

}  // namespace attend
