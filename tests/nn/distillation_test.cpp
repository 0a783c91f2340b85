// Soft targets against an independent divergence, whole and in blocks, with gradients.
#include "nn/losses/distillation.h"

#include "expect_error.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr double kTemperature = 2.5;

Tensor expected_loss(const Tensor& student, const Tensor& teacher) {
  return ops::kl_div(ops::log_softmax(student / kTemperature, 1), ops::softmax(teacher / kTemperature, 1),
                     ops::Reduction::Sum) *
         (kTemperature * kTemperature);
}

void expect_same(const LossSum& found, const Tensor& expected, const std::vector<Tensor>& leaves,
                 double tolerance) {
  EXPECT_NEAR(found.sum.item<double>(), expected.item<double>(), tolerance * (1 + expected.item<double>()));
  // Scaled, so that a loss with a weight is tested too.
  const auto gradients = ops::gradients({found.sum * 0.25}, leaves, {}, {.keeps_tape = true}),
             wanted = ops::gradients({expected * 0.25}, leaves, {}, {.keeps_tape = true});
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (wanted[i].numel() == 0) continue;
    EXPECT_LE((gradients[i] - wanted[i]).abs().max().item<double>(),
              tolerance * (1e-6 + wanted[i].abs().max().item<double>()))
        << i;
  }
}

class Distillation : public testing::TestWithParam<ScalarType> {
 protected:
  void SetUp() override { ops::manual_seed(5); }
  Tensor leaf(Dimensions shape) const { return ops::randn(shape, GetParam()).set_needs_gradient(); }
  double tolerance() const { return GetParam() == kDouble ? 1e-11 : 2e-5; }
};
INSTANTIATE_TEST_SUITE_P(Precisions, Distillation, testing::Values(kFloat, kDouble),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(Distillation, SoftTargetsAreTheTeachersDistribution) {
  const Tensor student = leaf({5, 7}), teacher = leaf({5, 7});
  const LossSum loss = soft_cross_entropy(student, teacher, kTemperature);
  EXPECT_EQ(loss.count, 5);
  expect_same(loss, expected_loss(student, teacher.detach()), {student}, tolerance());
  EXPECT_FALSE(ops::gradients({loss.sum}, {teacher}, {}, {.may_be_unused = true})[0].defined());
  EXPECT_NEAR(soft_cross_entropy(student, student, 1).sum.item<double>(), 0, 1e-5);
  EXPECT_ERROR("expected the shape [5, 7] of the student's, found [5, 6]",
               soft_cross_entropy(student, teacher.narrow(1, 0, 6), 1));
  EXPECT_ERROR("temperature: expected a number above 0, found 0", soft_cross_entropy(student, teacher, 0));
  EXPECT_ERROR("temperature: expected a number above 0, found nan",
               soft_cross_entropy(student, teacher, std::nan("")));
}

TEST_P(Distillation, TokensOfProbabilityZeroHaveNoLoss) {
  const Tensor student = leaf({3, 4}), teacher = ops::randn({3, 4}, GetParam());
  teacher.select(1, 2).fill_(-INFINITY);
  const LossSum loss = soft_cross_entropy(student, teacher, 1);
  EXPECT_TRUE(loss.sum.isfinite().item<bool>());
  EXPECT_TRUE(ops::gradients({loss.sum}, {student})[0].isfinite().all().item<bool>());
}

TEST_P(Distillation, AVocabularyIsScoredInBlocks) {
  for (const std::int64_t n : {0, 1, 1031}) {  // blocks of 1024 rows
    SCOPED_TRACE(n);
    const Tensor hidden = leaf({n, 6}), weight = leaf({19, 6}), bias = leaf({19});
    const Tensor theirs = ops::randn({n, 9}, GetParam());
    const Tensor matrix = ops::randn({19, 9}, GetParam());
    const Tensor stored = ops::linear(theirs, matrix);
    const Tensor expected = expected_loss(ops::linear(hidden, weight, bias), stored);
    for (const VocabularyScores& teacher :
         {VocabularyScores{theirs, matrix}, VocabularyScores{.hidden = {}, .weight = {}, .stored = stored}}) {
      const LossSum loss = linear_soft_cross_entropy({hidden, weight, bias}, teacher, kTemperature);
      EXPECT_EQ(loss.count, n);
      expect_same(loss, expected, {hidden, weight, bias}, tolerance());
    }
    const LossSum plain = linear_soft_cross_entropy({hidden, weight}, {theirs, matrix}, kTemperature);
    expect_same(plain, expected_loss(ops::linear(hidden, weight), stored), {hidden, weight}, tolerance());
  }
  const Tensor x = leaf({3, 4});
  EXPECT_ERROR("expected the shape [3, 5] of the student's, found [3, 6]",
               linear_soft_cross_entropy({x, leaf({5, 4})}, {x, leaf({6, 4})}, 1));
  EXPECT_ERROR("expected the shape [3, 5] of the student's, found [2, 5]",
               linear_soft_cross_entropy({x, leaf({5, 4})}, {leaf({2, 4}), leaf({5, 4})}, 1));
}

}  // namespace
}  // namespace attend
