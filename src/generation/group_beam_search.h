// Diverse beam search (Vijayakumar et al. 2016, arXiv:1610.02424): the beams are searched in groups, one
// group after the other in each step, and what the groups before have chosen loses diversity_penalty for each
// time. As transformers 4.57.6 has it (generation/beam_search.py, BeamSearchScorer), whose ranking differs
// from that of BeamSearch: a finished text is kept without its end, and ends with the first of the end
// tokens.
#pragma once

#include "generation/search.h"
#include "generation/token_tree.h"

namespace attend {

class GroupBeamSearch : public Search {
 public:
  explicit GroupBeamSearch(Request request);
  void choose(float* scores, std::int64_t vocabulary) override;  // log-probabilities
  void advance(Decoder& decoder) override;
  std::vector<GeneratedSequence> results() const override;

 private:
  struct Beam {
    float score;
    TokenTree::Node node;
    std::size_t row;  // of the scores that continue it
  };
  struct Finished {
    double score;
    TokenTree::Node node;
  };
  struct Group {
    std::vector<Beam> running;
    std::vector<Finished> finished;  // at most as many as there are beams, in the order in which they came
    double worst = 1e9;
    bool done = false;
  };

  void choose(Group& group, float* scores, std::int64_t vocabulary);
  void finish(Group& group, float score, TokenTree::Node node, std::int64_t length) const;
  bool is_done(const Group& group, float best) const;
  double penalty(std::int64_t length) const;

  TokenTree tree_;
  std::vector<Group> groups_;
  std::size_t size_;                  // of a group
  std::vector<std::int64_t> chosen_;  // tokens of the groups that have chosen in this step
  bool over_ = false;
};

}  // namespace attend
