// One token at a time: the likeliest, or a sampled one.
#pragma once

#include "generation/scores/mirostat.h"
#include "generation/search/search.h"

namespace attend {

class TokenSearch : public Search {
 public:
  explicit TokenSearch(Request request);
  void choose(float* scores, std::int64_t vocabulary) override;
  void advance(Decoder& decoder) override;
  std::vector<GeneratedSequence> results() const override;

 private:
  std::vector<std::vector<std::int64_t>> texts_;  // with the prompt
  std::vector<GeneratedSequence> made_;           // the new tokens of each
  std::vector<Mirostat> mirostats_;               // by text
  std::vector<std::size_t> live_;  // indices of the running texts: after the first step, those of the rows
};

}  // namespace attend
