// The loss over a vocabulary.
#pragma once

#include "nn/linear.h"

namespace attend {

constexpr std::int64_t kIgnoredLabel = -100;

struct LossOptions {
  // Szegedy et al. 2015 (arXiv:1512.00567): the target is (1 - s) one-hot + s / V.
  double label_smoothing = 0;
  // R-Drop (Liang et al. 2021, arXiv:2106.14448): the second half of the rows are the first half again, read
  // with another dropout, and each pair p, q of predictions adds this times (KL(p || q) + KL(q || p)) / 2.
  // Error where the labels of the two halves differ.
  double r_drop = 0;
};

// Labels equal to kIgnoredLabel do not count.
struct LossSum {
  Tensor sum;                                                       // scalar, differentiable
  std::int64_t count = 0;                                           // labels that count
  Tensor mean() const { return sum / static_cast<double>(count); }  // NaN without labels, as the original
};

// How many labels count. Error for one outside the vocabulary, or with R-Drop for two readings that differ.
std::int64_t count_labels(const Tensor& labels, std::int64_t vocabulary, const LossOptions& options);

// Gradients that were made with a loss, times that of the loss (1 in training, where the optimizer divides).
std::vector<Tensor> scaled_parts(const std::vector<Tensor>& parts, const Tensor& by);

// Of how many rows the scores over a vocabulary are made at a time, from hidden states so wide.
std::int64_t vocabulary_block(std::int64_t width, std::int64_t vocabulary);

// Cross-entropy of softmax(scores [T, V]) against labels [T].
LossSum cross_entropy(const Tensor& scores, const Tensor& labels, const LossOptions& options);

// Cross-entropy of softmax(hidden [T, d] weight [V, d]^T + bias [V]) against labels [T]. The scores are made,
// used and turned into gradients a block of rows at a time, so [T, V] is never held.
LossSum linear_cross_entropy(const Tensor& hidden, const Tensor& weight, const Tensor& bias,
                             const Tensor& labels, const LossOptions& options, PackedWeight& packed);

}  // namespace attend
