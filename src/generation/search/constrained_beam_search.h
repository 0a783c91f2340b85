// Constrained beam search (Hokamp and Liu 2017, arXiv:1704.07138; in banks: Post and Vilar 2018,
// arXiv:1804.06609): words must come somewhere in the text. In each step the continuations that would go on
// with a word join those that the model finds likely, and the beams are shared out among texts that have said
// as much of the words. As transformers 4.57.6 has it (generation/beam_search.py,
// ConstrainedBeamSearchScorer): what stands in a decoder's prompt has been said, and a text that lacks words
// cannot end but can be a result, where nothing better is left.
//
// A step costs, beside that of a beam search, a comparison of beams * words candidates.
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
  // Of the running texts, each with the first one that has the same tokens.
  std::vector<std::size_t> first_equals(std::span<const Beam> running) const;
  static std::vector<Beam> share_out(const std::vector<Candidate>& candidates, std::size_t count);

  ForcedWords words_;
  std::map<TokenTree::Node, ForcedWords::Progress> progress_;  // of the running texts
};

}  // namespace attend
