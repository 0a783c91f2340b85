// Required words of a constrained beam search (Post and Vilar 2018, arXiv:1804.06609).
#pragma once

#include <attend/tokenizer.h>

#include "generation/config/config.h"

#include <optional>
#include <span>

namespace attend {

// Tracks words through a text like transformers 4.57.6 (generation/beam_constraints.py): one word at a time,
// and a word that is broken off starts again after all pending ones.
class ForcedWords {
 public:
  explicit ForcedWords(const std::vector<ForcedWord>& words);

  // The progress of a text.
  class Progress {
   public:
    bool completed() const { return pending_.empty() && !begun_; }

   private:
    friend class ForcedWords;
    // The current word: the first `length` tokens of one of its phrases.
    struct Begun {
      std::size_t word, phrase, length;
    };
    std::vector<std::size_t> pending_;  // words that are still missing
    std::optional<Begun> begun_;
    std::int64_t complete_ = 0;
  };

  Progress begin(std::span<const std::int64_t> tokens) const;
  // `token` comes next.
  void add(Progress& progress, std::int64_t token) const;
  // The number of tokens of the words so far; texts with equally many are compared with each other.
  std::int64_t bank(const Progress& progress) const;

  // Tokens that would continue or begin a word, and the bank that they lead to.
  struct Advance {
    std::int64_t token, bank;
  };
  std::vector<Advance> advances(const Progress& progress) const;

 private:
  using Begun = Progress::Begun;
  std::vector<std::int64_t> next_tokens(const Begun& begun) const;
  // With one more token, if it continues the word.
  std::optional<Begun> longer(const Begun& begun, std::int64_t token) const;
  bool is_whole(const Begun& begun) const;

  const std::vector<ForcedWord>& words_;
  std::int64_t longest_ = 0;              // phrase of all
  std::vector<std::int64_t> longest_of_;  // by word
};

// The tokens of a word or phrase as written after a space, or of several with | between them. An Error for an
// empty one.
ForcedWord forced_word(const Tokenizer& tokenizer, std::string_view text);

}  // namespace attend
