// Unigram (Kudo 2018, arXiv:1804.10959): of all ways to divide a word into tokens, the one with the highest
// sum of scores. The Viterbi algorithm finds it in O(n m) for a word of n bytes and tokens of at most m
// bytes.
#include "base/error.h"
#include "tokenizers/models/model.h"
#include "tokenizers/text/trie.h"

#include <algorithm>
#include <limits>

namespace attend::tokenizers {
namespace {

class Unigram : public Model {
 public:
  Unigram(const Json& json, ModelTables tables, const std::string& source)
      : Model(std::move(tables.vocabulary), json), scores_(std::move(tables.scores)) {
    const Fields read(json, source);
    byte_fallback_ = read.flag({"byte_fallback"}, false);
    if (const auto id = read.maybe_integer({"unk_id"})) {
      if (static_cast<std::size_t>(*id) >= scores_.size())
        fail("{}: unk_id is {}, but the vocabulary has {} tokens", source, *id, scores_.size());
      unknown_id_ = static_cast<TokenId>(*id);
    }
    double min = std::numeric_limits<double>::infinity();
    std::vector<Trie::Entry> tokens;
    for (TokenId id = 0; id < vocabulary().end_id(); ++id) {
      tokens.push_back({vocabulary().token(id), vocabulary().find(vocabulary().token(id))});
      min = std::min(min, scores_[static_cast<std::size_t>(id)]);
    }
    trie_ = Trie(std::move(tokens));
    unknown_score_ = min - 10;  // SentencePiece's penalty
    for (int byte = 0; byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
      bytes_[static_cast<std::size_t>(byte)] = vocabulary().find(name);
    }
  }

  std::string tables() const override {
    std::string text = "\"vocab\":[";
    for (TokenId id = 0; id < vocabulary().end_id(); ++id) {
      if (id > 0) text += ',';
      text += '[' + Json(vocabulary().token(id)).dump() + ',' +
              Json(scores_[static_cast<std::size_t>(id)]).dump() + ']';
    }
    return text + ']';
  }

 private:
  struct Node {
    double score = 0;
    std::uint32_t begin = 0;
    TokenId id = -1;  // -1: not reached
  };

  void tokenize_word(std::string_view word, bool, ModelScratch&,
                     std::vector<TokenPart>& parts) const override {
    std::vector<Node> best(word.size() + 1);  // best[i]: the best way to byte i
    const auto reach = [&](std::size_t begin, std::size_t end, double score, TokenId id) {
      Node& node = best[end];
      if (node.id < 0 || score > node.score) node = {score, static_cast<std::uint32_t>(begin), id};
    };
    for (std::size_t at = 0; at < word.size();) {
      const unsigned size = unicode::decode(word.data() + at).size;
      bool single = false;  // whether there is a token for this one character
      trie_.find_prefixes(word.substr(at), [&](std::size_t length, TokenId id) {
        reach(at, at + length, scores_[static_cast<std::size_t>(id)] + best[at].score, id);
        single = single || length == size;
      });
      if (!single) {
        if (unknown_id_ < 0)
          fail("Unigram: no token contains '{}', and there is no unk_id", word.substr(at, size));
        reach(at, at + size, unknown_score_ + best[at].score, unknown_id_);
      }
      at += size;
    }
    std::vector<TextSpan> pieces;  // from the last to the first
    bool was_unknown = false;
    for (std::size_t end = word.size(); end > 0;) {
      const Node& node = best[end];
      const bool unknown = node.id == unknown_id_;
      if (unknown && was_unknown)
        pieces.back().begin = node.begin;  // neighbouring unknown pieces become one
      else
        pieces.push_back({node.begin, static_cast<std::uint32_t>(end)});
      was_unknown = unknown;
      end = node.begin;
    }
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
      add_piece(word.substr(piece->begin, piece->end - piece->begin), parts);
  }

  void add_piece(std::string_view text, std::vector<TokenPart>& parts) const {
    const auto length = static_cast<std::uint32_t>(text.size());
    if (const TokenId id = vocabulary().find(text); id >= 0) {
      parts.push_back({id, length});
      return;
    }
    if (byte_fallback_ && std::all_of(text.begin(), text.end(), [this](char byte) {
          return bytes_[static_cast<unsigned char>(byte)] >= 0;
        })) {
      for (const char byte : text) parts.push_back({bytes_[static_cast<unsigned char>(byte)], length, 0, 1});
      parts.back().shared = 0;
      return;
    }
    if (unknown_id_ < 0) fail("Unigram: no token contains '{}', and there is no unk_id", text);
    parts.push_back({unknown_id_, length, 1});
  }

  std::vector<double> scores_;
  Trie trie_;
  TokenId unknown_id_ = -1;
  double unknown_score_;
  bool byte_fallback_;
  std::array<TokenId, 256> bytes_;
};

}  // namespace

std::unique_ptr<Model> make_unigram(const Json& fields, ModelTables tables, const std::string& source) {
  if (tables.scores.size() != tables.vocabulary.size())
    fail("{}: expected a vocab of [token, score] pairs", source);
  return std::make_unique<Unigram>(fields, std::move(tables), source);
}

}  // namespace attend::tokenizers
