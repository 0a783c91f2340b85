// Constrained beam search (Hokamp and Liu 2017, arXiv:1704.07138; in banks: Post and Vilar 2018,
// arXiv:1804.06609): given words must occur somewhere in the text. In each step the continuations that
// advance a word join those that the model finds likely, and the beams are divided among texts with equal
// progress. As in transformers 4.57.6 (generation/beam_search.py, ConstrainedBeamSearchScorer): words in a
// decoder's prompt count, and a text without all words cannot end but can be a result if nothing better is
// left.
//
// A step costs a comparison of beams * words candidates more than that of a beam search.
#pragma once

#include "generation/search/forced_words.h"
#include "generation/search/group_beam_search.h"

#include <map>

namespace attend {

class ConstrainedBeamSearch : public GroupBeamSearch {
 public:
  explicit ConstrainedBeamSearch(Request request);

 protected:
  bool may_end(TokenTree::Node node) const override;
  void improve(std::vector<Beam>& next, std::span<const Beam> running,
               std::span<const float* const> rows) override;
  void finish_running(Group& group) const override;

 private:
  struct Candidate {
    Beam beam;
    std::int64_t bank;
  };
  // For each running text the first one with the same tokens.
  std::vector<std::size_t> first_equals(std::span<const Beam> running) const;
  static std::vector<Beam> share_out(const std::vector<Candidate>& candidates, std::size_t count);

  ForcedWords words_;
  std::map<TokenTree::Node, ForcedWords::Progress> progress_;  // of the running texts
};

}  // namespace attend
