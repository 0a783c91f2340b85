// Answers from the scores of windows, as transformers' run_qa finds them, against those expected.
#pragma once

#include "objectives/objective.h"
#include "objectives/question_windows.h"

namespace attend {

struct ScoredPlace {
  QuestionWindows::Place place;
  float score;  // of the start plus that of the end
};

// The best answer in the rows [begin, end) of scores [L, 2]: of the 20 best starts and ends of all rows those
// that lie there, at most 30 tokens apart; nothing where there are none.
std::optional<ScoredPlace> best_place(const Tensor& scores, std::int64_t begin, std::int64_t end);

// f1 and exact_match over all questions, each answered from all its windows; a question whose windows have
// not come is not answered. Where some questions have no answer, none is also what a question gets for which
// it scores higher. `windows` outlive the meter; a batch's examples are their numbers, and the scores [T, 2].
std::unique_ptr<Meter> answer_meter(const QuestionWindows& windows);

}  // namespace attend
