// Required words of a constrained beam search (Post and Vilar 2018, arXiv:1804.06609).
#pragma once

#include <attend/tokenizer.h>

#include "generation/config/config.h"

#include <optional>
#include <span>

namespace attend {

// As transformers 4.57.6 follows them through a text (generation/beam_constraints.py): one word at a time,
// and a word that is broken off begins anew behind all that are still to come.
class ForcedWords {
 public:
  explicit ForcedWords(const std::vector<ForcedWord>& words);

  // How far a text has come.
  class Progress {
   public:
    bool completed() const { return pending_.empty() && !begun_; }

   private:
    friend class ForcedWords;
    // Of the word that is being said: the first `length` tokens of one of its phrases.
    struct Begun {
      std::size_t word, phrase, length;
    };
    std::vector<std::size_t> pending_;  // words that are still to come
    std::optional<Begun> begun_;
    std::int64_t said_ = 0;
  };

  Progress begin(std::span<const std::int64_t> tokens) const;
  // `token` comes next.
  void add(Progress& progress, std::int64_t token) const;
  // Tokens that have been said of the words; texts with as many are compared with each other.
  std::int64_t bank(const Progress& progress) const;

  // Tokens that would go on with a word, or begin one, and the bank into which they lead.
  struct Advance {
    std::int64_t token, bank;
  };
  std::vector<Advance> advances(const Progress& progress) const;

 private:
  using Begun = Progress::Begun;
  std::vector<std::int64_t> next_tokens(const Begun& begun) const;
  // With one more token, if it goes on with the word.
  std::optional<Begun> longer(const Begun& begun, std::int64_t token) const;
  bool is_whole(const Begun& begun) const;

  const std::vector<ForcedWord>& words_;
  std::int64_t longest_ = 0;              // phrase of all
  std::vector<std::int64_t> longest_of_;  // by word
};

// The tokens of a word or phrase as it stands behind a space, or of several with | between them. Error for
// an empty one.
ForcedWord forced_word(const Tokenizer& tokenizer, std::string_view text);

}  // namespace attend
