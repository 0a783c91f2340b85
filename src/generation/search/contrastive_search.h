// Contrastive search (Su et al. 2022, arXiv:2202.06417): among the top_k likeliest tokens, chooses one that
// is likely and whose hidden state differs from those of all earlier tokens, which prevents repetition: the
// largest (1 - alpha) * probability - alpha * largest cosine. As in transformers 4.55, except that excluded
// tokens are never candidates.
//
// A candidate's hidden state is known only after the model has read it, so a step reads all k candidates,
// each in a branch of the cache, and the scores after the chosen one are those of the next token. It compares
// k with n hidden states of width d: O(k n d).
#pragma once

#include "generation/search/search.h"

namespace attend {

class ContrastiveSearch : public Search {
 public:
  explicit ContrastiveSearch(Request request);
  void feed(std::vector<Decoder::Feed>& feeds) const override;
  void choose(float* scores, std::int64_t vocabulary) override;
  void advance(Decoder& decoder) override;
  std::vector<GeneratedSequence> results() const override;

 private:
  struct Candidate {
    std::int64_t token;
    float probability, log_probability;
  };
  void take_best();
  void find_candidates(std::span<float> scores);

  std::vector<std::int64_t> text_;  // with the prompt
  std::vector<float> log_probabilities_;
  std::vector<Candidate> candidates_;   // for the next token; each is read by a row
  std::size_t chosen_ = 0;              // index of a candidate; in the first step the prompt's row
  Tensor context_;                      // [n, d], the directions of the hidden states so far
  mutable std::vector<Tensor> hidden_;  // by row [tokens, d], of the tokens read; the decoder's step fills
                                        // them
  bool over_ = false;
};

}  // namespace attend
