// Unigram (Kudo 2018, arXiv:1804.10959) with SentencePiece's arithmetic: the sums of scores have single
// precision, and because ties are frequent ("---" is "--" "-" or "-" "--"), rounding decides. The Viterbi
// algorithm over the whole text, O(n m) for pieces of at most m bytes.
#include "tokenizers/sentencepiece/model_sentencepiece.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attend::tokenizers {
namespace {

using Type = SentencePieceFile::Type;

class SentencePieceUnigram : public SentencePieceBase {
 public:
  SentencePieceUnigram(const SentencePieceFile& file, PieceIds ids, Json fields, const std::string& source)
      : SentencePieceBase(file, std::move(ids), std::move(fields), source) {
    float min = std::numeric_limits<float>::max();
    greatest_ = std::numeric_limits<float>::lowest();
    for (const SentencePieceFile::Piece& piece : file.pieces) {
      if (piece.type != Type::normal) continue;
      min = std::min(min, piece.score);
      greatest_ = std::max(greatest_, piece.score);
    }
    constexpr float penalty = 10;
    unknown_score_ = min - penalty;
    float max = std::max(std::abs(unknown_score_), std::abs(greatest_));
    for (const SentencePieceFile::Piece& piece : file.pieces)
      if (piece.type == Type::user_defined)
        max = std::max(max, static_cast<float>(piece.text.size()) * std::abs(greatest_) + 1);
    for (const SentencePieceFile::Piece& piece : file.pieces) scores_.push_back(score_of(piece));
    const float count = 16384 / max;
    max_sure_scores_ = count < 1e6F ? static_cast<std::size_t>(count) : 0;  // NaN if the file is damaged
  }

 private:
  static constexpr float greatest_sum = 100000;  // then sums start again, to keep their precision
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  struct Node {
    float score = -infinity;  // of the best way to this byte; initially there is none
    float margin = infinity;  // difference to the second best
    std::uint32_t begin = 0;
    TokenId piece = no_piece;  // the piece that ends here; no_piece: an unknown character
  };

  // The score that a piece adds to a sum; `never` for a piece that is not used.
  static constexpr float never = -infinity;
  float score_of(const SentencePieceFile::Piece& piece) const {
    if (piece.type == Type::unused) return never;
    if (piece.type != Type::user_defined) return piece.score;
    // Such a symbol always wins: it scores as much as one best piece per byte.
    return static_cast<float>(static_cast<float>(piece.text.size()) * greatest_ - 0.1);
  }

  // After other words, a word's sums start with theirs and are rounded differently: by half of 2^-10 each
  // below 2^14. Two ways to divide n characters have at most 2 n sums, so a margin of 0.001 n is safe.
  static constexpr float margin_per_byte = 0.001F;
  std::size_t max_sure_scores() const override { return max_sure_scores_; }

  Segmentation segment(std::string_view text, float sum_before, Parts& parts) const override {
    Workspace workspace;
    std::pmr::vector<Node> best(text.size() + 1, &workspace);  // best[i]: the best way to byte i
    best[0].score = sum_before;
    std::size_t furthest = 0;  // the furthest byte reachable from before `at`
    for (std::size_t at = 0; at < text.size();) {
      const unsigned size = unicode::decode(text.data() + at).size;
      if (std::abs(best[at].score) > greatest_sum) {
        const float offset = best[at].score;
        for (std::size_t i = at; i <= furthest; ++i) best[i].score -= offset;
      }
      const float here = best[at].score;
      bool single = false;  // whether there is a piece for this one character
      const auto reach = [&](std::size_t length, TokenId piece, float score) {
        Node& node = best[at + length];
        furthest = std::max(furthest, at + length);
        const float ahead = score - node.score;
        if (score > node.score)
          node = {score, ahead, static_cast<std::uint32_t>(at), piece};
        else
          node.margin = std::min(node.margin, -ahead);
      };
      trie().find_prefixes(text.substr(at), [&](std::size_t length, TokenId piece) {
        const float score = scores_[static_cast<std::size_t>(piece)];
        if (score == never) return;
        reach(length, piece, score + here);
        single = single || length == size;
      });
      if (!single) reach(size, no_piece, unknown_score_ + here);
      at += size;
    }
    const std::size_t first = parts.size();
    bool sure = true;
    for (std::size_t end = text.size(); end > 0; end = best[end].begin) {
      parts.push_back({best[end].begin, static_cast<std::uint32_t>(end), best[end].piece});
      sure = sure && best[end].margin > margin_per_byte * static_cast<float>(text.size());
    }
    std::reverse(parts.begin() + static_cast<std::ptrdiff_t>(first), parts.end());
    return {best[text.size()].score, sure};
  }

  std::vector<float> scores_;  // by piece, see score_of
  float unknown_score_, greatest_;
  std::size_t max_sure_scores_;
};

}  // namespace

std::unique_ptr<Model> make_sentencepiece_unigram(const SentencePieceFile& file, PieceIds ids, Json fields,
                                                  const std::string& source) {
  return std::make_unique<SentencePieceUnigram>(file, std::move(ids), std::move(fields), source);
}

}  // namespace attend::tokenizers
