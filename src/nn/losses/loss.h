// The loss over a vocabulary.
#pragma once

#include "nn/linear/linear.h"

namespace attend {

constexpr std::int64_t kIgnoredLabel = -100;

struct LossOptions {
  // Szegedy et al. 2015 (arXiv:1512.00567): the target is (1 - s) one-hot + s / V.
  double label_smoothing = 0;
  // R-Drop (Liang et al. 2021, arXiv:2106.14448): the second half of the rows repeats the first half with
  // another dropout, and each pair p, q of predictions adds this times (KL(p || q) + KL(q || p)) / 2. An
  // Error if the labels of the two halves differ.
  double r_drop = 0;
};

// Labels equal to kIgnoredLabel do not count.
struct LossSum {
  Tensor sum;                                                       // scalar, differentiable
  std::int64_t count = 0;                                           // labels that count
  Tensor mean() const { return sum / static_cast<double>(count); }  // NaN without labels, as in the original
};

// The number of labels that count. An Error for one outside the vocabulary, or, with R-Drop, if the halves
// differ.
std::int64_t count_labels(const Tensor& labels, std::int64_t vocabulary, const LossOptions& options);

// Gradients that were computed with a loss, times the gradient of the loss (1 in training; the optimizer
// divides).
std::vector<Tensor> scaled_parts(const std::vector<Tensor>& parts, const Tensor& by);

// The number of rows for which scores over a vocabulary are made at a time; `width`: of the hidden states.
std::int64_t vocabulary_block(std::int64_t width, std::int64_t vocabulary);

// Cross-entropy of softmax(scores [T, V]) against labels [T].
LossSum cross_entropy(const Tensor& scores, const Tensor& labels, const LossOptions& options);

// Cross-entropy of softmax(hidden [T, d] weight [V, d]^T + bias [V]) against labels [T]. The scores are made,
// used and turned into gradients a block of rows at a time, so [T, V] is never in memory.
LossSum linear_cross_entropy(const Tensor& hidden, const Tensor& weight, const Tensor& bias,
                             const Tensor& labels, const LossOptions& options, PackedWeight& packed);

}  // namespace attend
