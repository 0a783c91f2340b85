// Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909) over a whole text, as SentencePiece has it: of
// all neighbours that are a piece together, those with the highest score are joined, the leftmost first.
// There are no merges in the file, so any two parts that spell a piece may join. User-defined symbols never
// join. O(n log n) for a text of n characters.
#include "tokenizers/model_sentencepiece.h"

#include <queue>

namespace attend::tokenizers {
namespace {

using Type = SentencePieceFile::Type;

class SentencePieceBpe : public SentencePieceBase {
 public:
  SentencePieceBpe(const SentencePieceFile& file, PieceIds ids, Json fields, const std::string& source)
      : SentencePieceBase(file, std::move(ids), std::move(fields), source) {
    for (std::size_t i = 0; i < file.pieces.size(); ++i)
      if (file.pieces[i].type == Type::user_defined)
        frozen_.add(file.pieces[i].text, static_cast<TokenId>(i));
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Symbol {
    std::uint32_t begin, end;
    std::uint32_t before, after;  // neighbours; none: there is none
    bool frozen;
    TokenId piece;  // that it was joined to; no_piece: one character or symbol
  };
  struct Candidate {
    float score;
    std::uint32_t left, right, size;
    TokenId piece;
    bool operator<(const Candidate& other) const {  // the top of a priority_queue is the greatest
      return score != other.score ? score < other.score : left > other.left;
    }
  };

  std::vector<Symbol> symbols_of(std::string_view text) const {
    std::vector<Symbol> symbols;
    for (std::uint32_t at = 0; at < text.size();) {
      std::size_t size = 0;
      frozen_.find_prefixes(text.substr(at), [&size](std::size_t length, TokenId) { size = length; });
      const bool frozen = size > 0;
      if (!frozen) size = unicode::decode(text.data() + at).size;
      const auto index = static_cast<std::uint32_t>(symbols.size());
      const std::uint32_t end = at + static_cast<std::uint32_t>(size);
      symbols.push_back(
          {at, end, index == 0 ? none : index - 1, end == text.size() ? none : index + 1, frozen, no_piece});
      at = end;
    }
    return symbols;
  }

  std::size_t most_sure_scores() const override { return SIZE_MAX; }

  bool segment(std::string_view text, std::vector<Part>& parts) const override {
    std::vector<Symbol> symbols = symbols_of(text);
    std::priority_queue<Candidate> queue;
    const auto consider = [&](std::uint32_t left, std::uint32_t right) {
      if (left == none || right == none || symbols[left].frozen || symbols[right].frozen) return;
      const std::uint32_t size = symbols[right].end - symbols[left].begin;
      const TokenId piece = find_piece(text.substr(symbols[left].begin, size));
      if (piece != no_piece) queue.push({info(piece).score, left, right, size, piece});
    };
    for (std::uint32_t i = 1; i < symbols.size(); ++i) consider(i - 1, i);
    while (!queue.empty()) {
      const Candidate top = queue.top();
      queue.pop();
      Symbol &left = symbols[top.left], &right = symbols[top.right];
      // Stale once one of the two has been joined to something else.
      if (left.begin == left.end || right.begin == right.end || right.end - left.begin != top.size) continue;
      left.end = right.end;
      left.piece = top.piece;
      left.after = right.after;
      right.end = right.begin;
      if (left.after != none) symbols[left.after].before = top.left;
      consider(left.before, top.left);
      consider(top.left, left.after);
    }
    for (std::uint32_t i = symbols.empty() ? none : 0; i != none; i = symbols[i].after)
      parts.push_back({symbols[i].begin, symbols[i].end, symbols[i].piece});
    return true;
  }

  Trie frozen_;
};

}  // namespace

std::unique_ptr<Model> make_sentencepiece_bpe(const SentencePieceFile& file, PieceIds ids, Json fields,
                                              const std::string& source) {
  return std::make_unique<SentencePieceBpe>(file, std::move(ids), std::move(fields), source);
}

}  // namespace attend::tokenizers
