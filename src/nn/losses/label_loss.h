// Losses over labels, as sums with the number of labels that count. Rows of several texts are stored one
// after another, without padding. Cross-entropy of scores [n, C] and labels [n] is in nn/losses/loss.h.
// Errors name the problem: shapes, labels out of range, NaN.
#pragma once

#include "nn/losses/loss.h"
#include "nn/pass/ragged.h"

namespace attend {

// Squared differences; every number counts.
LossSum squared_error(const Tensor& scores, const Tensor& targets);

// Binary cross-entropy of sigmoid(scores) against targets from 0 to 1; every number counts.
LossSum sigmoid_cross_entropy(const Tensor& scores, const Tensor& targets);

// Multiple choice: scores [T] of all questions' choices, and the index [B] of each right choice, from 0 to
// its number of choices - 1. Questions may have different numbers of choices. kIgnoredLabel does not count.
LossSum choice_cross_entropy(const Tensor& scores, const Offsets& questions, const Tensor& labels);

// The loss of an answer's start and of its end; each has its own mean.
struct SpanLoss {
  LossSum start, end;
  Tensor mean() const { return (start.mean() + end.mean()) / 2; }
};
// scores [T, 2] of every token against the positions [B] within each text; softmax over the text's own rows.
// A position outside the text does not count: truncation has removed the answer.
SpanLoss span_cross_entropy(const Tensor& scores, const Offsets& texts, const Tensor& starts,
                            const Tensor& ends);

// 1 - cos(a_t, b_t) for rows a, b [n, d], which all count: the hidden states of a student and its teacher
// (Sanh et al. 2019, "DistilBERT", arXiv:1910.01108).
LossSum cosine_distance(const Tensor& a, const Tensor& b);

// Contrastive pairs with in-batch negatives (Henderson et al. 2017, arXiv:1705.00652; van den Oord et al.
// 2018, arXiv:1807.03748): cross-entropy of scale * cos(a_i, b_j) over all j against i. a [B, d]; b [N, d]:
// the first B belong to a, the others are negatives for all. `symmetric`: the mean of that and of the same
// loss for each of the first B of b over all a (Radford et al. 2021, "CLIP", arXiv:2103.00020). left_out [B,
// N] bool, or undefined: true where b_j is not a negative of a_i because it is also right; always false for i
// = j.
LossSum contrastive_cross_entropy(const Tensor& a, const Tensor& b, double scale, bool symmetric = false,
                                  const Tensor& left_out = {});

}  // namespace attend
