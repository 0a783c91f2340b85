// Pairs of segments of running text, as BERT's and ALBERT's pretraining packs them
// (create_pretraining_data.py of google-research/bert and google-research/albert).
#pragma once

#include "data/token_rows.h"
#include "objectives/objective.h"

namespace attend {

// The meaning of a pair's label 1.
enum class PairTask {
  next_sentence,   // 1: the second segment is from another document (Devlin et al. 2018, appendix A.2)
  sentence_order,  // 1: the segments have changed places (Lan et al. 2019, section 3.1)
};

// [begin, end) of the rows' ids.
struct Piece {
  std::int64_t begin = 0, end = 0;
  std::int64_t length() const { return end - begin; }
};
struct SentencePair {
  Piece first, second;
  std::int64_t label = 0;  // 0: the second segment follows the first
};

// An epoch's pairs, which follow from `draws` and the document's number. Sentences of a document are taken
// until they have `longest` tokens, or, one time in ten, a number from 2 to `longest`, and cut in two between
// any sentences. One time in two the label is 1; the second half is then of another document (and the one it
// replaces is taken again for the next pair), or the halves change places. What is longer than `longest` in
// all loses tokens at either end of its longer segment.
//
// Other than in the originals, a sentence that has no neighbour makes no pair, of which every label would be
// 1; the shorter lengths are drawn for each pair and not for each document; and a segment of another document
// that is too short begins earlier, lest the length of a pair should tell its label.
//
// Error if there is no pair: every document is one sentence, or for next_sentence there is only one document.
std::vector<SentencePair> draw_pairs(const TokenRows& rows, PairTask task, std::int64_t longest,
                                     const Draws& draws);

}  // namespace attend
