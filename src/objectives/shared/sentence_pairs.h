// Pairs of segments of running text, as BERT's and ALBERT's pretraining packs them
// (create_pretraining_data.py of google-research/bert and google-research/albert).
#pragma once

#include "data/token_rows.h"
#include "objectives/base/objective.h"

namespace attend {

// The meaning of a pair's label 1.
enum class PairTask {
  next_sentence,   // 1: the second segment is from another document (Devlin et al. 2018, appendix A.2)
  sentence_order,  // 1: the segments are swapped (Lan et al. 2019, section 3.1)
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

// An epoch's pairs, which depend only on `draws` and the document's index. Sentences of a document are taken
// until they have `longest` tokens, or, one time in ten, a random number from 2 to `longest`, and are cut in
// two between any sentences. One time in two the label is 1: then the second half comes from another document
// (and the half that it replaces is used again for the next pair), or the halves are swapped. If both are
// longer than `longest`, the longer segment loses tokens at a random end, one by one.
//
// Differences from the originals: a sentence without a neighbour makes no pair, because its label would
// always be 1; the shorter lengths are drawn for each pair, not for each document; and a segment of another
// document that is too short begins earlier, so that a pair's length does not reveal its label.
//
// Throws Error if there is no pair: every document is one sentence, or for next_sentence there is only one
// document.
std::vector<SentencePair> draw_pairs(const TokenRows& rows, PairTask task, std::int64_t longest,
                                     const Draws& draws);

}  // namespace attend
