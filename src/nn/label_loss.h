// Losses over labels, as sums with the number of labels that count. Rows of several texts are stored one
// after another, without padding. Cross-entropy of scores [n, C] and labels [n] is in nn/loss.h. Errors name
// the problem: shapes, labels out of range, NaN.
#pragma once

#include "nn/loss.h"
#include "nn/ragged.h"

namespace attend {

// Squared differences of as many numbers, each of which counts.
LossSum squared_error(const Tensor& scores, const Tensor& targets);

// Binary cross-entropy of sigmoid(scores) against as many targets from 0 to 1, each of which counts.
LossSum sigmoid_cross_entropy(const Tensor& scores, const Tensor& targets);

// Multiple choice: scores [T] of all questions' choices against the right one of each [B], from 0 to its
// number of choices - 1. Questions may have different numbers of choices. kIgnoredLabel does not count.
LossSum choice_cross_entropy(const Tensor& scores, const Offsets& questions, const Tensor& labels);

// Where an answer begins and where it ends: each end has its own mean.
struct SpanLoss {
  LossSum start, end;
  Tensor mean() const { return (start.mean() + end.mean()) / 2; }
};
// scores [T, 2] of every token against the places [B] within each text; softmax over the text's own rows. A
// place outside the text does not count: the answer was cut away with the rest of a long text.
SpanLoss span_cross_entropy(const Tensor& scores, const Offsets& texts, const Tensor& starts,
                            const Tensor& ends);

// 1 - cos(a_t, b_t) for rows a, b [n, d], each of which counts: the hidden states of a student and its
// teacher (Sanh et al. 2019, "DistilBERT", arXiv:1910.01108).
LossSum cosine_distance(const Tensor& a, const Tensor& b);

// Contrastive pairs with in-batch negatives (Henderson et al. 2017, arXiv:1705.00652; van den Oord et al.
// 2018, arXiv:1807.03748): cross-entropy of scale * cos(a_i, b_j) over all j against i. a [B, d]; b [N, d],
// of which the first B belong to a and the others are negatives of all. `symmetric`: the mean of that and of
// the same from each of the first B of b over all a (Radford et al. 2021, "CLIP", arXiv:2103.00020).
// left_out [B, N] bool, or undefined: where b_j is no negative of a_i, since it is right too; never where i =
// j.
LossSum contrastive_cross_entropy(const Tensor& a, const Tensor& b, double scale, bool symmetric = false,
                                  const Tensor& left_out = {});

}  // namespace attend
