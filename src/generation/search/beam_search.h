// Beam search as in transformers 4.57.6 (generation/utils.py, _beam_search): num_beams running texts and a
// ranking of num_beams finished ones, step by step with the same float32 arithmetic, so that the results and
// even the content of unused places are the same. With sampling, the continuations of the running texts are
// sampled from all candidates instead of taking the best.
#pragma once

#include "generation/search/search.h"
#include "generation/search/token_tree.h"

namespace attend {

class BeamSearch : public Search {
 public:
  explicit BeamSearch(Request request);
  void choose(float* scores, std::int64_t vocabulary) override;  // log-probabilities
  void advance(Decoder& decoder) override;
  std::vector<GeneratedSequence> results() const override;

 private:
  struct Beam {
    float score;
    TokenTree::Node node;
    std::size_t row;  // of the scores after it
  };
  struct Candidate {
    float score;
    TokenTree::Node node;
    std::size_t row;
    bool ended;
  };
  struct Finished {
    float score;
    TokenTree::Node node = TokenTree::kRoot;
    bool is_finished = false;
  };

  std::vector<Candidate> candidates(float* scores, std::int64_t vocabulary);
  void rank(const std::vector<Candidate>& candidates, float length);
  void continue_best(const std::vector<Candidate>& candidates);
  bool can_improve() const;
  bool all_finished() const;
  float penalty(std::int64_t new_tokens) const;

  TokenTree tree_;
  std::vector<Beam> running_;       // num_beams, best first
  std::vector<Finished> finished_;  // num_beams, best first
  bool improvable_ = true;          // once false, it stays false
  bool over_ = false;
};

}  // namespace attend
