// How transformers' slow tokenizers decode SentencePiece's pieces: the model decodes the text between special
// tokens, like SentencePieceProcessor::Decode (sentencepiece 0.2.0), or all pieces are concatenated.
#include "base/python_text.h"
#include "base/utf8.h"
#include "tokenizers/sentencepiece/sentencepiece.h"
#include "tokenizers/text/metaspace.h"

#include <charconv>
#include <map>
#include <utility>

namespace attend::tokenizers {
namespace {

using Type = SentencePieceFile::Type;

std::string with_spaces(std::string text) {
  replace_all(text, space_letter, " ");
  return text;
}

// Decodes bytes that may be invalid; each invalid byte becomes U+FFFD.
std::string characters_of(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t valid = find_invalid_utf8(bytes).value_or(bytes.size());
    text += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    text += "\uFFFD";
    bytes.remove_prefix(1);
  }
  return text;
}

class PieceDecoder : public Decoder {
 public:
  PieceDecoder(const SentencePieceFile& file, const PieceJoining& joining, std::set<std::string> specials)
      : joining_(joining),
        specials_(std::move(specials)),
        skips_space_(file.add_dummy_prefix || file.remove_extra_whitespaces),
        skips_spaces_(file.remove_extra_whitespaces) {
    for (const SentencePieceFile::Piece& piece : file.pieces) types_.emplace(piece.text, piece.type);
  }

  void apply(std::vector<std::string>& tokens) const override {
    std::string text = joining_.by_model ? decode(tokens) : side_by_side(tokens);
    if (joining_.behind_special) text = with_spaces(std::move(text));
    if (joining_.strips) text = std::string(strip(text));
    tokens = {std::move(text)};
  }

  std::string in_the_middle(std::string token) const override {
    const int byte = type_of(token) == Type::byte ? byte_of(token) : -1;
    return byte >= 0 ? std::string(1, static_cast<char>(byte)) : with_spaces(std::move(token));
  }

 private:
  static std::string side_by_side(const std::vector<std::string>& tokens) {
    std::string text;
    for (const std::string& token : tokens) text += token;
    return with_spaces(std::move(text));
  }

  std::string decode(std::vector<std::string> tokens) const {
    if (joining_.drops_first_space && !tokens.empty() && tokens[0].starts_with(space_letter))
      tokens[0].erase(0, space_letter.size());
    std::string text;
    std::vector<std::string> run;  // pieces after the last special token
    bool behind_special = false;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool special = specials_.contains(tokens[i]);
      if (!special) {
        if (behind_special && i == 1 && joining_.space_behind_first && !tokens[i].starts_with(space_letter))
          text += ' ';
        run.push_back(std::move(tokens[i]));
      } else {
        // As in the original: the space comes before the run, not before the special token.
        if (joining_.before_run && !behind_special && (i > 0 || !joining_.bare_begin)) text += ' ';
        text += decode_run(std::exchange(run, {})) + tokens[i];
        if (joining_.behind_special) text += ' ';
      }
      behind_special = special;
    }
    return text + decode_run(run);
  }

  // SentencePieceProcessor::Decode.
  std::string decode_run(const std::vector<std::string>& pieces) const {
    std::string text, bytes;
    bool begins = true, begun = false;
    for (const std::string& piece : pieces) {
      const Type type = type_of(piece);
      if (type == Type::byte) {
        bytes += static_cast<char>(byte_of(piece));
        continue;
      }
      text += characters_of(std::exchange(bytes, {}));
      if (begun || !text.empty()) begins = false;
      begun = false;
      if (type == Type::control) continue;
      if (type == Type::unknown) {  // the piece itself, or unknown text
        text += types_.contains(piece) ? " \u2047 " : piece;
        continue;
      }
      std::string_view rest = piece;
      if (begins && skips_space_ && rest.starts_with(space_letter)) {
        rest.remove_prefix(space_letter.size());
        begun = !skips_spaces_;
      }
      text += with_spaces(std::string(rest));
    }
    return text + characters_of(bytes);
  }

  Type type_of(const std::string& piece) const {
    const auto found = types_.find(piece);
    return found == types_.end() ? Type::unknown : found->second;
  }
  static int byte_of(const std::string& piece) {  // <0x..>
    unsigned value = 0;
    if (piece.size() != 6) return -1;
    const auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, value, 16);
    return error == std::errc() ? static_cast<int>(value) : -1;
  }

  PieceJoining joining_;
  std::set<std::string> specials_;
  std::map<std::string, Type, std::less<>> types_;
  bool skips_space_, skips_spaces_;
};

}  // namespace

std::unique_ptr<Decoder> make_piece_decoder(const SentencePieceFile& file, const PieceJoining& joining,
                                            std::set<std::string> specials) {
  return std::make_unique<PieceDecoder>(file, joining, std::move(specials));
}

}  // namespace attend::tokenizers
