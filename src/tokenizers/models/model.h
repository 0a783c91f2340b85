// The model of a tokenizer: a word in, tokens out.
#pragma once

#include <attend/tokenizer.h>

#include "formats/json.h"
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

// Where a token stands: bytes of the text of its piece.
struct TokenPlace {
  std::uint32_t piece, begin, end;
  bool literal;  // the token reads as the text it stands for, not as its id does
};

struct Tokens {
  std::vector<TokenId> ids;
  std::vector<TokenPlace> places;  // one per id where wanted, else empty
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

// What a model wants to keep from word to word. Belongs to one thread at a time.
struct ModelScratch {
  WordCache cache;
  float dropout = 0;        // of merges, for this text (EncodeOptions); a model's own counts too
  std::minstd_rand random;  // for it; the same in every run of a program with one thread
  std::vector<TokenPart> parts;
  std::string text;
};

class Model {
 public:
  virtual ~Model() = default;

  // Appends the tokens of all pieces, behind whose text there are WordCache::bytes_behind bytes more.
  void tokenize(const Pieces& pieces, ModelScratch& scratch, Tokens& tokens) const;
  // The model reads byte-level pieces as bytes (Pieces::byte_level).
  virtual bool reads_bytes() const { return false; }
  // The same word may become other tokens the next time.
  virtual bool depends_on_chance(const ModelScratch&) const { return false; }

  const Vocabulary& vocabulary() const { return vocabulary_; }
  // All fields but the large tables, as they were read.
  const Json& fields() const { return fields_; }
  // The large tables ("vocab" and, for BPE, "merges") as JSON members: "vocab":{...}
  virtual std::string tables() const;
  // The parts of one word, appended to `parts`; `bytes`: the word stands for its byte-level form. Unless it
  // depends on chance, what is appended depends on nothing but the word, for it is cached.
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
  // WordLevel: words behind the vocabulary, for transformers' slow tokenizers look a word up among added
  // tokens too, though it was not cut out of the text as one of them.
  std::map<std::string, TokenId, std::less<>> added_words;

  // Of left and right tokens, one behind the other. Error if one is not in the vocabulary, which has to be
  // there already.
  void add_merges(std::span<const std::string_view> tokens, const std::string& source);
};

// `source` names the file and the field in errors.
std::unique_ptr<Model> make_model(const Json& fields, ModelTables tables, const std::string& source);

std::unique_ptr<Model> make_bpe(const Json& fields, ModelTables tables, const std::string& source);
std::unique_ptr<Model> make_wordpiece(const Json& fields, ModelTables tables, const std::string& source);
std::unique_ptr<Model> make_wordlevel(const Json& fields, ModelTables tables, const std::string& source);
std::unique_ptr<Model> make_unigram(const Json& fields, ModelTables tables, const std::string& source);

}  // namespace attend::tokenizers
