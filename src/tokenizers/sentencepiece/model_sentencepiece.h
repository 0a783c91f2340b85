// The common parts of SentencePiece's two models: pieces, and the tokens for parts of a text that are not
// pieces.
#pragma once

#include "tokenizers/sentencepiece/sentencepiece.h"
#include "tokenizers/sentencepiece/word_borders.h"
#include "tokenizers/text/trie.h"

#include <array>
#include <memory_resource>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

class SentencePieceBase : public Model {
 public:
  std::string tables() const override;

 protected:
  struct PieceInfo {
    float score;
    SentencePieceFile::Type type;
  };
  static constexpr TokenId no_piece = -1;

  SentencePieceBase(const SentencePieceFile& file, PieceIds ids, Json fields, const std::string& source);

  struct Part {
    std::uint32_t begin, end;
    TokenId piece;  // no_piece: not known to be one
  };
  using Parts = std::pmr::vector<Part>;
  // Unigram's sums are rounded, so how a word is divided may depend on the sum of the scores before it.
  struct Segmentation {
    float sum;  // after the word
    bool sure;  // the word has the same parts after any sum of at most max_sure_scores()
  };
  // Appends the parts of a normalized text, or of a word of it, to `parts`, in order.
  virtual Segmentation segment(std::string_view text, float sum_before, Parts& parts) const = 0;
  virtual std::size_t max_sure_scores() const = 0;

  // The possible pieces of a text: normal, user-defined and unused ones. The value is the piece.
  const Trie& trie() const { return trie_; }
  TokenId find_piece(std::string_view text) const;  // no_piece: none
  bool has_unused() const { return has_unused_; }
  const PieceInfo& info(TokenId piece) const { return info_[static_cast<std::size_t>(piece)]; }

  struct StackMemory {
    std::array<std::byte, 2048> memory;
  };
  // Short-lived memory for one word: on the stack, unless the word is long.
  class Workspace : StackMemory, public std::pmr::monotonic_buffer_resource {
   public:
    Workspace() : monotonic_buffer_resource(memory.data(), memory.size()) {}
  };

 private:
  // For a whole text, which is less likely to be repeated than one of its words, so only the words are cached
  // (here).
  bool depends_on_chance(const ModelScratch&) const override { return true; }
  void tokenize_word(std::string_view text, bool bytes, ModelScratch& scratch,
                     std::vector<TokenPart>& parts) const override;
  void tokenize_by_words(std::string_view text, WordCache& cache, std::vector<TokenPart>& parts) const;
  Segmentation add_parts(std::string_view text, float sum_before, std::vector<TokenPart>& parts) const;
  // Calls `action(part, piece)` for every part of a text; neighbours that are not pieces are one part.
  template <class Action>
  void for_each_joined(std::string_view text, const Parts& cut, Action action) const;
  void add_part(std::string_view text, TokenId piece, std::vector<TokenPart>& parts) const;
  bool add_without_comma(std::string_view text, std::vector<TokenPart>& parts) const;

  Trie trie_;
  Vocabulary texts_;  // of all pieces
  std::vector<PieceInfo> info_;
  std::vector<TokenId> ids_;  // by piece
  std::vector<double> scores_by_id_;
  std::vector<std::pair<TokenId, TokenId>> merges_;  // for tables(); of BPE
  bool has_merges_, has_unused_;
  TokenId unknown_;
  bool split_digit_comma_, finds_texts_;
  bool has_prefix_;                 // a space is added before every text
  std::array<TokenId, 256> bytes_;  // ids; -1: no piece
  bool byte_fallback_;
  WordBorders borders_;
  bool by_words_;  // a word's parts do not depend on the text around it
};

std::unique_ptr<Model> make_sentencepiece_unigram(const SentencePieceFile& file, PieceIds ids, Json fields,
                                                  const std::string& source);
std::unique_ptr<Model> make_sentencepiece_whole(const SentencePieceFile& file, PieceIds ids, Json fields,
                                                const std::string& source);
std::unique_ptr<Model> make_sentencepiece_bpe(const SentencePieceFile& file, PieceIds ids, Json fields,
                                              const std::string& source);

}  // namespace attend::tokenizers
