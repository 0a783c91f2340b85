// Finds the answer span in a text, from the scores of every token as its start and as its end.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attend {

struct AnswerSpan {
  std::size_t start = 0, end = 0;  // tokens, the last one included
  float score = 0;                 // probability of the start times that of the end
};

struct SpanScores {
  std::vector<AnswerSpan> spans;  // the best first
  float none = 0;                 // score of the first token, which means no answer, as start and end
};

// The `count` best spans of at most `longest` tokens. start, end: scores of every token; allowed: the tokens
// that may be part of a span. The first token counts in the probabilities but is in no span.
SpanScores best_spans(std::span<const float> start, std::span<const float> end,
                      const std::vector<bool>& allowed, std::size_t count, std::size_t longest);

}  // namespace attend
