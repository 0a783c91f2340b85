// Answers from the scores of windows, as transformers' run_qa finds them, against those expected.
#pragma once

#include "objectives/base/objective.h"
#include "objectives/shared/question_windows.h"

namespace attend {

struct ScoredPlace {
  QuestionWindows::Place place;
  float score;  // of the start plus that of the end
};

// The best answer in the rows [begin, end) of scores [L, 2]: among the 20 best starts and ends of all rows,
// those in this range that are at most 30 tokens apart; none if no such span exists.
std::optional<ScoredPlace> best_place(const Tensor& scores, std::int64_t begin, std::int64_t end);

// f1 and exact_match over all questions, each answered from all its windows; questions without any window so
// far are left out. If some questions have no answer, a question also gets no answer if that scores higher.
// `windows` must outlive the meter; the examples of a batch are window indices, and scores are [T, 2].
std::unique_ptr<Meter> answer_meter(const QuestionWindows& windows);

}  // namespace attend
