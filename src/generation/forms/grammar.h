// Constrained generation: JSON with a schema, matches of a regular expression, texts of a grammar.
#pragma once

#include <attend/tokenizer.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attend {

// What a whole text must be, without its prompt.
struct TextForm {
  enum class Kind {
    json_schema,  // https://json-schema.org; json_schema.h says what of it texts can be kept to
    regex,        // of ECMAScript, for the whole text
    grammar,      // EBNF as llama.cpp's GBNF: rules "name ::= ...", of which "root" is the text
    // XGrammar's structural tags: free text in which certain texts begin other forms. Special tokens that the
    // tag names may come; of all others, only those that end a text.
    structural_tag,
  } kind;
  std::string text;

  bool operator==(const TextForm&) const = default;
};

// A form, compiled for the tokens of a vocabulary by XGrammar (Dong et al. 2024, arXiv:2411.15100). Any
// number of threads may ask one grammar.
class Grammar {
 public:
  // Error for a form that is none. A text may begin with a space that the tokenizer's decoder leaves out (or,
  // likewise, end with one). `ends`: the tokens with which a complete text ends; at least one.
  Grammar(const TextForm& form, const Tokenizer& tokenizer, std::int64_t vocabulary,
          std::span<const std::int64_t> ends);
  ~Grammar();

  // Rules out (-infinity) every token that cannot come after `text`, without the prompt: all of them if the
  // text is of no such form itself, or is over. Error if the text could go on, but not with any one token.
  void apply(std::span<float> scores, std::span<const std::int64_t> text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attend
