// Questions whose answers are spans of a context, as in SQuAD (Rajpurkar et al. 2016, arXiv:1606.05250; with
// questions that have no answer, 2018, arXiv:1806.03822).
#pragma once

#include "data/table.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attend {

struct ContextAnswer {
  std::string text;
  std::int64_t start = 0;  // in characters (code points) of the context
};

struct ContextQuestion {
  std::string id;  // empty: the row has none
  std::string question, context;
  std::vector<ContextAnswer> answers;  // empty: the context does not answer the question
};

// Reads JSON lines with question, context and answers {"text": [...], "answer_start": [...]} (the rows of
// Hugging Face's SQuAD), or SQuAD's own file: {"data": [{"paragraphs": [...]}]}. If an answer does not match
// the context at its start, the row is bad (bad_rows.h).
std::vector<ContextQuestion> read_questions(const std::vector<std::string>& files,
                                            const TableOptions& options = {});

}  // namespace attend
