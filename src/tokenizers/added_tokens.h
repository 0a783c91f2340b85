// The "added_tokens" of tokenizer.json: texts that are always one token, independent of the model.
#pragma once

#include <attend/tokenizer.h>

#include "formats/json/json.h"
#include "tokenizers/models/model.h"
#include "tokenizers/steps/normalizer.h"
#include "tokenizers/text/text.h"
#include "tokenizers/text/trie.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attend::tokenizers {

struct AddedToken {
  std::string content;
  bool single_word = false;                      // matches only without a word character next to it
  bool left_strip = false, right_strip = false;  // includes the white space next to it
  bool normalized = true;                        // its normalized form is searched for in the normalized text
  bool special = false;
};

class AddedTokens {
 public:
  // Reads the list of tokenizer.json. A token that the model knows keeps the model's id; the others are
  // numbered from the end of the model's vocabulary, in the order of the list, and the list's ids are
  // ignored. `slow`, like transformers' slow tokenizers: the list's ids count, even if the model has another
  // id for a token; a single word may have only spaces next to it, and the text is cut there in any case.
  void read(const Json& list, const Model& model, const Normalizer* normalizer, const std::string& source,
            bool slow = false);

  // Marian's language codes, such as ">>fr<<": at the start of a text or after an added token, everything up
  // to the next "<<" is one token of the vocabulary, or else `unknown`.
  void take_language_codes(const Vocabulary& vocabulary, TokenId unknown);

  // Lowercasing of a slow tokenizer: everything except added tokens is lowercased, and then these are
  // searched for in the result. The normalizer may lowercase again.
  void take_lowercase(std::unique_ptr<Normalizer> lowercase) { lowercase_ = std::move(lowercase); }

  // Divides the text into pieces: added tokens, and the normalized text between them.
  void split(std::string_view text, const Normalizer* normalizer, Pieces& pieces) const;

  // The list's id of the token with this id in the model; the same id if they agree.
  TokenId renumbered(TokenId id) const;
  bool renumbers() const { return !renumbered_.empty(); }

  bool is_special(std::string_view token) const { return special_.contains(token); }
  const AddedToken* find(TokenId id) const;
  TokenId find(std::string_view content) const;  // -1: none
  TokenId end_id() const { return by_id_.empty() ? 0 : by_id_.rbegin()->first + 1; }
  std::size_t count_outside(const Vocabulary& vocabulary) const;
  Json to_json() const;

 private:
  // Finds the longest of several texts at the leftmost position.
  struct Matcher {
    Matcher() = default;
    explicit Matcher(const std::vector<std::pair<std::string, TokenId>>& tokens);

    // The first position from `at` on where one of them may start; the end of the text if there is none.
    std::size_t next(std::string_view text, std::size_t at) const;

    Trie trie;
    std::array<bool, 256> begins{};  // bytes that some text begins with
    std::string beginnings;          // the same bytes, each once
  };
  struct Match {
    std::size_t begin, end;
    TokenId id;  // -1: text between tokens
  };
  Match next_match(std::string_view text, const Matcher& matcher, std::size_t at) const;
  template <class Emit>
  void find_matches(std::string_view text, const Matcher& matcher, Emit emit) const;
  template <class Emit>
  void find_matches_slowly(std::string_view text, const Matcher& matcher, Emit emit) const;
  void split_normalized(NormalizedText text, const Normalizer* normalizer, Pieces& pieces) const;
  void split_lowercase(std::string_view text, const Normalizer* normalizer, Pieces& pieces) const;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return hash_text(text); }
  };
  std::map<TokenId, AddedToken> by_id_;
  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> ids_;
  std::unordered_map<std::string, bool, Hash, std::equal_to<>> special_;
  Matcher raw_, normalized_;
  bool slow_ = false;
  std::unordered_map<TokenId, TokenId> renumbered_;
  const Vocabulary* language_codes_ = nullptr;  // null: none
  TokenId unknown_language_code_ = -1;
  std::unique_ptr<Normalizer> lowercase_;  // null: none
};

}  // namespace attend::tokenizers
