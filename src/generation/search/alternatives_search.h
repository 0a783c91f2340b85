// Alternative texts with different first tokens: a separate search continues each of the likeliest next
// tokens, as if it were part of the prompt.
#pragma once

#include "generation/search/search.h"

namespace attend {

class AlternativesSearch : public Search {
 public:
  explicit AlternativesSearch(Request request);
  void feed(std::vector<Decoder::Feed>& feeds) const override;
  void choose(float* scores, std::int64_t vocabulary) override;
  void advance(Decoder& decoder) override;
  std::vector<GeneratedSequence> results() const override;
  void release(Decoder& decoder) override;
  bool done() const override;

 private:
  struct Token {
    std::int64_t id;
    float log_probability;
  };
  struct Branch {
    Token token;
    std::unique_ptr<Search> search = {};  // null: the text ends with the token
    bool goes_on() const { return search && !search->done(); }
  };
  void choose_beginnings(std::span<float> scores);
  void begin(Decoder& decoder);
  std::unique_ptr<Search> continue_with(std::int64_t token, std::size_t text, Decoder::Sequence sequence);

  SearchSettings branch_settings_;  // of one text
  std::vector<Token> only_;         // tokens without an alternative, which come before all branches
  std::vector<Branch> branches_;    // the likeliest first; at most num_return_sequences
};

}  // namespace attend
