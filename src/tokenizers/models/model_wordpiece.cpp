// WordPiece (Schuster and Nakajima 2012; as in BERT, Devlin et al. 2018, arXiv:1810.04805): the longest token
// that begins the word, then the longest that continues it, and so on. O(n^2) hash look-ups for a word of n
// bytes, bounded by max_input_chars_per_word.
#include "base/error.h"
#include "tokenizers/models/model.h"

#include <algorithm>

namespace attend::tokenizers {
namespace {

class WordPiece : public Model {
 public:
  WordPiece(const Json& json, Vocabulary words, const std::string& source) : Model(std::move(words), json) {
    const Fields read(json, source);
    unknown_ = read.text({"unk_token"}, "[UNK]");
    prefix_ = read.text({"continuing_subword_prefix"}, "##");
    longest_word_ =
        static_cast<std::size_t>(read.integer({"max_input_chars_per_word"}, 100, 0, std::int64_t{1} << 24));
    unknown_id_ = vocabulary().find(unknown_);
    vocabulary().for_each(
        [this](std::string_view token, TokenId) { longest_token_ = std::max(longest_token_, token.size()); });
  }

 private:
  void tokenize_word(std::string_view word, bool, ModelScratch& scratch,
                     std::vector<TokenPart>& parts) const override {
    const std::size_t before = parts.size();
    if (unicode::count(word) <= longest_word_ && tokenize_known(word, scratch.text, parts)) return;
    parts.resize(before);
    if (unknown_id_ < 0)
      fail("WordPiece: the word '{}' has no tokens and the unk_token '{}' is not in the vocabulary", word,
           unknown_);
    parts.push_back({unknown_id_, static_cast<std::uint32_t>(word.size())});
  }

  // False if no token covers some part of the word.
  bool tokenize_known(std::string_view word, std::string& candidate, std::vector<TokenPart>& parts) const {
    for (std::size_t begin = 0; begin < word.size();) {
      candidate.assign(begin > 0 ? prefix_ : std::string_view());
      const std::size_t prefix_size = candidate.size();
      std::size_t end = word.size();
      if (prefix_size + (end - begin) > longest_token_) {
        end = begin + (longest_token_ > prefix_size ? longest_token_ - prefix_size : 0);
        while (end > begin && (word[end] & 0xC0) == 0x80) --end;
      }
      candidate.append(word, begin, end - begin);
      TokenId id = -1;
      while (end > begin && (id = vocabulary().find(candidate)) < 0) {
        do --end;
        while (end > begin && (word[end] & 0xC0) == 0x80);
        candidate.resize(prefix_size + (end - begin));
      }
      if (end == begin) return false;
      parts.push_back({id, static_cast<std::uint32_t>(end - begin)});
      begin = end;
    }
    return true;
  }

  std::string unknown_, prefix_;
  std::size_t longest_word_, longest_token_ = 0;
  TokenId unknown_id_;
};

}  // namespace

std::unique_ptr<Model> make_wordpiece(const Json& fields, ModelTables tables, const std::string& source) {
  return std::make_unique<WordPiece>(fields, std::move(tables.vocabulary), source);
}

}  // namespace attend::tokenizers
