// The model of a tokenizer: a word in, tokens out.
#pragma once

#include <attend/tokenizer.h>

#include "formats/json/json.h"
#include "tokenizers/models/vocabulary.h"
#include "tokenizers/models/word_cache.h"
#include "tokenizers/text/text.h"

#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace attend::tokenizers {

// The position of a token: a piece, and the bytes in its text.
struct TokenPlace {
  std::uint32_t piece, begin, end;
  bool literal;  // the token's text is this part of the input, not that of its id
};

struct Tokens {
  std::vector<TokenId> ids;
  std::vector<TokenPlace> places;  // one per id if requested, else empty
  bool with_places = false;

  void clear(bool want_places) {
    ids.clear();
    places.clear();
    with_places = want_places;
  }
  std::size_t capacity_in_bytes() const {
    return ids.capacity() * sizeof(TokenId) + places.capacity() * sizeof(TokenPlace);
  }
};

// State that a model keeps between words. Used by one thread at a time.
struct ModelScratch {
  WordCache cache;
  float dropout = 0;        // of merges, for this text (EncodeOptions); a model's own dropout applies too
  std::minstd_rand random;  // for dropout; the same in every run of a program with one thread
  std::vector<TokenPart> parts;
  std::string text;
};

class Model {
 public:
  virtual ~Model() = default;

  // Appends the tokens of all pieces; after their text there must be WordCache::bytes_behind more readable
  // bytes.
  void tokenize(const Pieces& pieces, ModelScratch& scratch, Tokens& tokens) const;
  // Whether the model reads byte-level pieces as bytes (Pieces::byte_level).
  virtual bool reads_bytes() const { return false; }
  // Whether the same word may give other tokens the next time.
  virtual bool depends_on_chance(const ModelScratch&) const { return false; }

  const Vocabulary& vocabulary() const { return vocabulary_; }
  // All fields except the large tables, as they were read.
  const Json& fields() const { return fields_; }
  // The large tables ("vocab" and, for BPE, "merges") as JSON members: "vocab":{...}
  virtual std::string tables() const;
  // Appends the parts of one word to `parts`; `bytes`: the word represents its byte-level form. Unless
  // depends_on_chance, the parts must depend only on the word, because they are cached.
  virtual void tokenize_word(std::string_view word, bool bytes, ModelScratch& scratch,
                             std::vector<TokenPart>& parts) const = 0;

 protected:
  Model(Vocabulary vocabulary, Json fields)
      : vocabulary_(std::move(vocabulary)), fields_(std::move(fields)) {}

 private:
  Vocabulary vocabulary_;
  Json fields_;
};

// The tables of "model" in tokenizer.json, which are too large for a general JSON tree.
struct ModelTables {
  Vocabulary vocabulary;
  std::vector<double> scores;                       // Unigram: by id
  std::vector<std::pair<TokenId, TokenId>> merges;  // BPE, by rank
  bool has_vocabulary = false, has_merges = false;
  // WordLevel: words after the vocabulary. transformers' slow tokenizers look a word up among added tokens
  // too, even if the text did not contain it as a separate added token.
  std::map<std::string, TokenId, std::less<>> added_words;

  // From alternating left and right tokens. An Error if one is not in the vocabulary, which must be filled
  // before.
  void add_merges(std::span<const std::string_view> tokens, const std::string& source);
};

// `source` names the file and the field in errors.
std::unique_ptr<Model> make_model(const Json& fields, ModelTables tables, const std::string& source);

std::unique_ptr<Model> make_bpe(const Json& fields, ModelTables tables, const std::string& source);
std::unique_ptr<Model> make_wordpiece(const Json& fields, ModelTables tables, const std::string& source);
std::unique_ptr<Model> make_wordlevel(const Json& fields, ModelTables tables, const std::string& source);
std::unique_ptr<Model> make_unigram(const Json& fields, ModelTables tables, const std::string& source);

}  // namespace attend::tokenizers
