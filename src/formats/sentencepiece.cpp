#include "formats/sentencepiece.h"

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"

#include <cmath>
#include <cstdint>
#include <optional>

#include <protozero/pbf_reader.hpp>

namespace attend {
namespace {

using Piece = SentencePieceFile::Piece;

// Field numbers of sentencepiece_model.proto.
enum ModelField { pieces_field = 1, trainer_field = 2, normalizer_field = 3 };
enum PieceField { text_field = 1, score_field = 2, type_field = 3 };
enum TrainerField { kind_field = 3, whitespace_as_suffix_field = 24, byte_fallback_field = 35 };
enum NormalizerField {
  charsmap_field = 2,
  dummy_prefix_field = 3,
  extra_whitespaces_field = 4,
  escape_whitespaces_field = 5
};

constexpr std::size_t max_pieces = std::size_t{1} << 24;

// protozero reads a field as any requested type, even if the file has another type there.
void expect(const protozero::pbf_reader& message, protozero::pbf_wire_type type, const std::string& source) {
  if (message.wire_type() != type)
    fail("{}: field {} has wire type {}, expected {}", source, message.tag(),
         static_cast<int>(message.wire_type()), static_cast<int>(type));
}

constexpr auto varint = protozero::pbf_wire_type::varint, fixed32 = protozero::pbf_wire_type::fixed32,
               bytes_type = protozero::pbf_wire_type::length_delimited;

// An enumeration in the file, with values 1 to `last`.
template <class Enum>
Enum read_enum(protozero::pbf_reader& message, Enum last, const std::string& source) {
  expect(message, varint, source);
  const std::int32_t value = message.get_enum();
  if (value < 1 || value > static_cast<std::int32_t>(last))
    fail("{}: expected a number from 1 to {}, found {}", source, static_cast<std::int32_t>(last), value);
  return static_cast<Enum>(value);
}

Piece read_piece(protozero::pbf_reader message, const std::string& source) {
  Piece piece;
  while (message.next()) {
    switch (message.tag()) {
      case text_field:
        expect(message, bytes_type, source);
        piece.text = message.get_string();
        break;
      case score_field:
        expect(message, fixed32, source);
        piece.score = message.get_float();
        break;
      case type_field:
        piece.type = read_enum(message, SentencePieceFile::Type::byte, source + ".type");
        break;
      default:
        message.skip();
    }
  }
  if (piece.text.empty()) fail("{}: the piece is empty", source);
  if (find_invalid_utf8(piece.text)) fail("{}: the piece is not valid UTF-8", source);
  if (!std::isfinite(piece.score)) fail("{}: the score is {}, expected a number", source, piece.score);
  return piece;
}

void read_trainer(protozero::pbf_reader message, SentencePieceFile& file, const std::string& source) {
  while (message.next()) {
    switch (message.tag()) {
      case kind_field:
        file.kind = read_enum(message, SentencePieceFile::Kind::character, source + ".model_type");
        break;
      case whitespace_as_suffix_field:
        expect(message, varint, source);
        file.whitespace_as_suffix = message.get_bool();
        break;
      case byte_fallback_field:
        expect(message, varint, source);
        file.byte_fallback = message.get_bool();
        break;
      default:
        message.skip();
    }
  }
}

void read_normalizer(protozero::pbf_reader message, SentencePieceFile& file, const std::string& source) {
  while (message.next()) {
    switch (message.tag()) {
      case charsmap_field:
        expect(message, bytes_type, source);
        file.charsmap = message.get_string();
        break;
      case dummy_prefix_field:
        expect(message, varint, source);
        file.add_dummy_prefix = message.get_bool();
        break;
      case extra_whitespaces_field:
        expect(message, varint, source);
        file.remove_extra_whitespaces = message.get_bool();
        break;
      case escape_whitespaces_field:
        expect(message, varint, source);
        file.escape_whitespaces = message.get_bool();
        break;
      default:
        message.skip();
    }
  }
}

void find_unknown(SentencePieceFile& file, const std::string& source) {
  std::optional<std::size_t> unknown;
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    if (file.pieces[i].type != SentencePieceFile::Type::unknown) continue;
    if (unknown) fail("{}: the pieces {} and {} are both of type unknown", source, *unknown, i);
    unknown = i;
  }
  if (!unknown) fail("{}: none of the {} pieces is of type unknown", source, file.pieces.size());
  file.unknown = *unknown;
}

}  // namespace

SentencePieceFile parse_sentencepiece(std::string_view bytes, const std::string& source) {
  SentencePieceFile file;
  try {
    protozero::pbf_reader message(bytes.data(), bytes.size());
    while (message.next()) {
      if (message.tag() <= normalizer_field) expect(message, bytes_type, source);
      switch (message.tag()) {
        case pieces_field:
          if (file.pieces.size() == max_pieces) fail("{}: more than {} pieces", source, max_pieces);
          file.pieces.push_back(read_piece(message.get_message(),
                                           source + ": pieces[" + std::to_string(file.pieces.size()) + "]"));
          break;
        case trainer_field:
          read_trainer(message.get_message(), file, source + ": trainer_spec");
          break;
        case normalizer_field:
          read_normalizer(message.get_message(), file, source + ": normalizer_spec");
          break;
        default:
          message.skip();
      }
    }
  } catch (const protozero::exception& error) {
    fail("{}: not a SentencePiece model, or damaged: {}", source, error.what());
  }
  if (file.pieces.empty()) fail("{}: not a SentencePiece model: it has no pieces", source);
  find_unknown(file, source);
  return file;
}

SentencePieceFile read_sentencepiece(const std::filesystem::path& path) {
  return parse_sentencepiece(read_file(path), path.string());
}

}  // namespace attend
