// Speculative decoding: token by token, but with several draft tokens verified in one decoder step. Draft
// tokens are accepted as long as the search would have chosen them anyway (Leviathan et al. 2022,
// arXiv:2211.17192). The texts are exactly those of TokenSearch.
#pragma once

#include "generation/scores/mirostat.h"
#include "generation/search/search.h"

#include <optional>

namespace attend {

class SpeculativeSearch : public Search {
 public:
  explicit SpeculativeSearch(Request request);
  void feed(std::vector<Decoder::Feed>& feeds) const override;
  void choose(float* scores, std::int64_t vocabulary) override;
  void advance(Decoder& decoder) override;
  std::vector<GeneratedSequence> results() const override;
  void release(Decoder& decoder) override;

 private:
  std::vector<std::int64_t> propose() const;

  std::vector<std::int64_t> text_;  // with the prompt
  GeneratedSequence made_;          // the new tokens
  Mirostat mirostat_;
  // The input of the next step: the tokens of the text that are not in the cache yet, and draft tokens after
  // them. Wrong draft tokens cannot be removed from a cache, so a branch of it reads them.
  std::vector<std::int64_t> unread_, guesses_, feed_;
  std::optional<Decoder::Sequence> branch_;  // if there are draft tokens
  std::size_t chosen_ = 0;                   // number of tokens in the last step
  bool over_ = false;
};

}  // namespace attend
