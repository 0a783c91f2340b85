// Constrained generation: JSON with a schema, matches of a regular expression, texts of a grammar.
#pragma once

#include <attend/generation_config.h>
#include <attend/tokenizer.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attend {

// A form, compiled for the tokens of a vocabulary by XGrammar (Dong et al. 2024, arXiv:2411.15100).
// Thread-safe.
class Grammar {
 public:
  // An Error for an invalid form. A text may begin with a space that the tokenizer's decoder drops (or end
  // with one). `ends`: the tokens that end a complete text; at least one.
  Grammar(const TextForm& form, const Tokenizer& tokenizer, std::int64_t vocabulary,
          std::span<const std::int64_t> ends);
  ~Grammar();

  // Excludes (-infinity) every token that cannot come after `text`, without the prompt: all of them if the
  // text itself does not match, or is complete. An Error if the text could continue, but not with any single
  // token.
  void apply(std::span<float> scores, std::span<const std::int64_t> text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attend
