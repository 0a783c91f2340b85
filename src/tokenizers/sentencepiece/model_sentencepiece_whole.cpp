// SentencePiece's character and word models: a text is divided at every character, or before every space, and
// each part is looked up. User-defined symbols are not divided into characters.
#include "tokenizers/sentencepiece/model_sentencepiece.h"
#include "tokenizers/text/metaspace.h"

#include <limits>

namespace attend::tokenizers {
namespace {

using Type = SentencePieceFile::Type;

class SentencePieceWhole : public SentencePieceBase {
 public:
  SentencePieceWhole(const SentencePieceFile& file, PieceIds ids, Json fields, const std::string& source)
      : SentencePieceBase(file, std::move(ids), std::move(fields), source),
        words_(file.kind == SentencePieceFile::Kind::word) {
    std::vector<Trie::Entry> symbols;
    for (std::size_t i = 0; i < file.pieces.size(); ++i)
      if (file.pieces[i].type == Type::user_defined)
        symbols.push_back({file.pieces[i].text, static_cast<TokenId>(i)});
    symbols_ = Trie(std::move(symbols));
  }

 private:
  std::size_t max_sure_scores() const override { return std::numeric_limits<std::size_t>::max(); }

  Segmentation segment(std::string_view text, float, Parts& parts) const override {
    for (std::size_t at = 0; at < text.size();) {
      std::size_t size = 0;
      if (words_)
        size = std::min(text.find(space_letter, at + 1), text.size()) - at;
      else
        symbols_.find_prefixes(text.substr(at), [&size](std::size_t length, TokenId) { size = length; });
      if (size == 0) size = unicode::decode(text.data() + at).size;
      parts.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + size),
                       find_piece(text.substr(at, size))});
      at += size;
    }
    return {0, true};
  }

  Trie symbols_;
  bool words_;
};

}  // namespace

std::unique_ptr<Model> make_sentencepiece_whole(const SentencePieceFile& file, PieceIds ids, Json fields,
                                                const std::string& source) {
  return std::make_unique<SentencePieceWhole>(file, std::move(ids), std::move(fields), source);
}

}  // namespace attend::tokenizers
