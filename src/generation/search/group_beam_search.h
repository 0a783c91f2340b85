// Diverse beam search (Vijayakumar et al. 2016, arXiv:1610.02424): the beams form groups, searched one after
// another in each step; each time an earlier group has chosen a token, it loses diversity_penalty. As in
// transformers 4.57.6 (generation/beam_search.py, BeamSearchScorer), whose ranking differs from that of
// BeamSearch: a finished text is stored without its end token, and ends with the first of the end tokens.
#pragma once

#include "generation/search/search.h"
#include "generation/search/token_tree.h"

namespace attend {

class GroupBeamSearch : public Search {
 public:
  explicit GroupBeamSearch(Request request);
  void choose(float* scores, std::int64_t vocabulary) override;  // log-probabilities
  void advance(Decoder& decoder) override;
  std::vector<GeneratedSequence> results() const override;

 protected:
  struct Beam {
    float score;
    TokenTree::Node node;
    std::size_t row;  // of the scores after it; for a chosen beam, those that chose it
  };
  struct Finished {
    double score;
    TokenTree::Node node;
  };
  struct Group {
    std::vector<Beam> running;
    std::vector<Finished> finished;  // at most the number of beams, in the order of finishing
    double worst = 1e9;
    bool done = false;
  };

  // `length`: number of new tokens, including the end token.
  void finish(Group& group, float score, TokenTree::Node node, std::int64_t length) const;

  // Overridden by constrained beam search. Whether this text may end.
  virtual bool may_end(TokenTree::Node) const { return true; }
  // Replaces some of the beams that were chosen as continuations of `running`; `rows` are their scores, V
  // each.
  virtual void improve(std::vector<Beam>& /*next*/, std::span<const Beam> /*running*/,
                       std::span<const float* const> /*rows*/) {}
  // The search is over: adds the running texts to the finished ones.
  virtual void finish_running(Group& group) const;

  TokenTree tree_;

 private:
  void choose(Group& group, float* scores, std::int64_t vocabulary);
  bool is_done(const Group& group, float best) const;
  double penalty(std::int64_t length) const;

  std::vector<Group> groups_;
  std::size_t size_;                  // of a group
  std::vector<std::int64_t> chosen_;  // of the groups that have already chosen in this step
  bool over_ = false;
};

}  // namespace attend
