// Soft targets: a student learns its teacher's distribution (Hinton et al. 2015, arXiv:1503.02531).
#pragma once

#include "nn/losses/loss.h"

namespace attend {

// temperature^2 KL(softmax(teacher / temperature) || softmax(student / temperature)), summed over rows, which
// all count. student, teacher [n, C]; no gradient flows to the teacher.
LossSum soft_cross_entropy(const Tensor& student, const Tensor& teacher, double temperature);

// Scores over a vocabulary: hidden [n, d] weight [V, d]^T + bias [V] (undefined: none), or stored ones.
struct VocabularyScores {
  Tensor hidden, weight, bias = {};
  Tensor stored = {};  // [n, V], instead of the above
};

// Like soft_cross_entropy, but scores are made, used and turned into gradients a block of rows at a time: no
// [n, V] is in memory except stored ones. Gradients flow to the student's three tensors; its scores cannot be
// stored ones.
LossSum linear_soft_cross_entropy(const VocabularyScores& student, const VocabularyScores& teacher,
                                  double temperature);

}  // namespace attend
