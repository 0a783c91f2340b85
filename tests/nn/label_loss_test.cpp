// Losses on ragged rows against torch's own functions, with gradients, in both precisions.
#include "nn/losses/label_loss.h"

#include "expect_error.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

class LabelLoss : public testing::TestWithParam<ScalarType> {
 protected:
  void SetUp() override { ops::manual_seed(7); }
  Tensor leaf(Dimensions shape) const { return ops::randn(shape, GetParam()).set_needs_gradient(); }
  double tolerance() const { return GetParam() == kDouble ? 1e-12 : 2e-5; }

  // The same loss with the same gradients.
  void expect_equal(const Tensor& found, const Tensor& expected, const std::vector<Tensor>& leaves) const {
    EXPECT_EQ(found.type(), GetParam());
    EXPECT_NEAR(found.item<double>(), expected.item<double>(),
                tolerance() * (1 + std::abs(expected.item<double>())));
    const auto gradients = ops::gradients({found}, leaves, {}, {.keeps_tape = true}),
               wanted = ops::gradients({expected}, leaves, {}, {.keeps_tape = true});
    for (std::size_t i = 0; i < leaves.size(); ++i)
      EXPECT_TRUE(ops::allclose(gradients[i], wanted[i], tolerance(), tolerance())) << i;
  }
  void expect_nothing(const LossSum& loss, const Tensor& leaf) const {
    EXPECT_EQ(loss.count, 0);
    EXPECT_EQ(loss.sum.item<double>(), 0);
    EXPECT_EQ(ops::gradients({loss.sum}, {leaf}, {}, {.keeps_tape = true})[0].abs().sum().item<double>(), 0);
  }
};
INSTANTIATE_TEST_SUITE_P(Precisions, LabelLoss, testing::Values(kFloat, kDouble),
                         [](const auto& info) { return std::string(name_of(info.param)); });

const auto kSum = ops::Reduction::Sum;

TEST_P(LabelLoss, SquaredErrorCountsEveryNumber) {
  const Tensor scores = leaf({7, 3}), targets = ops::randn({21}, kDouble);
  const LossSum loss = squared_error(scores, targets);
  EXPECT_EQ(loss.count, 21);
  expect_equal(loss.sum, (scores - targets.view({7, 3}).to(GetParam())).square().sum(), {scores});
  expect_equal(loss.mean(), ops::mse_loss(scores, targets.view({7, 3}).to(GetParam())), {scores});
  const Tensor none = leaf({0});
  expect_nothing(squared_error(none, ops::zeros({0})), none);
  EXPECT_ERROR("expected 21 numbers of the shape [7, 3], found the shape [20]",
               squared_error(scores, ops::zeros({20})));
}

TEST_P(LabelLoss, BinaryCrossEntropyTakesZerosAndOnes) {
  const Tensor scores = leaf({5, 3}), targets = ops::randint(2, {5, 3});
  const LossSum loss = sigmoid_cross_entropy(scores, targets);
  EXPECT_EQ(loss.count, 15);
  const Tensor wanted = targets.to(GetParam());
  expect_equal(loss.sum,
               -(wanted * ops::log_sigmoid(scores) + (1 - wanted) * ops::log_sigmoid(-scores)).sum(),
               {scores});
  EXPECT_ERROR("expected numbers from 0 to 1, found others", sigmoid_cross_entropy(scores, targets * 2));
  EXPECT_ERROR("expected numbers from 0 to 1, found others",
               sigmoid_cross_entropy(scores, ops::full({5, 3}, std::nan(""), kFloat)));
  EXPECT_ERROR("expected 15 numbers of the shape [5, 3], found the shape [4, 3]",
               sigmoid_cross_entropy(scores, targets.narrow(0, 0, 4)));
}

// Each question alone, as torch computes it.
TEST_P(LabelLoss, QuestionsMayHaveDifferentNumbersOfChoices) {
  const Offsets questions({4, 1, 2, 5});
  const Tensor scores = leaf({12}), labels = ops::tensor({3, 0, -100, 2}, kLong);
  const LossSum loss = choice_cross_entropy(scores, questions, labels);
  EXPECT_EQ(loss.count, 3);
  Tensor expected = ops::zeros({}, GetParam());
  for (const std::int64_t b : {0, 1, 3})
    expected = expected + ops::cross_entropy_loss(questions.part(scores, b).unsqueeze(0),
                                                  labels.narrow(0, b, 1), {}, kSum);
  expect_equal(loss.sum, expected, {scores});
  expect_nothing(choice_cross_entropy(scores, questions, ops::full({4}, kIgnoredLabel, kLong)), scores);
  const Tensor none = leaf({0});
  expect_nothing(choice_cross_entropy(none, Offsets(), ops::zeros({0}, kLong)), none);
  EXPECT_ERROR("label 4 is outside question 0 with its 4 choices",
               choice_cross_entropy(scores, questions, ops::tensor({4, 0, 0, 0}, kLong)));
  EXPECT_ERROR("label -1 is outside question 0",
               choice_cross_entropy(scores, questions, ops::tensor({-1, 0, 0, 0}, kLong)));
  EXPECT_ERROR("labels: expected an integer for each of 4 texts, found Long of the shape [3]",
               choice_cross_entropy(scores, questions, ops::tensor({0, 0, 0}, kLong)));
  EXPECT_ERROR("labels: expected an integer for each of 4 texts, found Float",
               choice_cross_entropy(scores, questions, ops::zeros({4})));
  EXPECT_ERROR("scores: expected the shape [5] for 2 texts",
               choice_cross_entropy(scores, Offsets({4, 1}), ops::tensor({0, 0}, kLong)));
}

// Like a padded batch with masked padding, in which a position after the text is the ignored index.
TEST_P(LabelLoss, EndsOfASpanCountSeparately) {
  const Offsets texts({3, 1, 6, 0, 2});
  const Tensor scores = leaf({12, 2});
  const Tensor starts = ops::tensor({2, 0, 6, 0, -1}, kLong), ends = ops::tensor({2, 0, 5, 7, 1}, kLong);
  const SpanLoss loss = span_cross_entropy(scores, texts, starts, ends);
  EXPECT_EQ(loss.start.count, 2);
  EXPECT_EQ(loss.end.count, 4);
  std::vector<Tensor> padded;
  for (std::int64_t b = 0; b < texts.count(); ++b)
    padded.push_back(ops::with_margins(texts.part(scores, b), {0, 0, 0, 6 - texts.length(b)}, -1e9));
  const Tensor all = ops::stack(padded);  // [5, 6, 2]
  const auto expected = [&](std::int64_t end, std::vector<std::int64_t> places) {
    return ops::cross_entropy_loss(all.select(2, end), ops::tensor(places, kLong), {}, ops::Reduction::Mean,
                                   -100);
  };
  const Tensor start = expected(0, {2, 0, -100, -100, -100}), end = expected(1, {2, 0, 5, -100, 1});
  expect_equal(loss.start.mean(), start, {scores});
  expect_equal(loss.end.mean(), end, {scores});
  expect_equal(loss.mean(), (start + end) / 2, {scores});
  const Tensor outside = ops::full({5}, -1, kLong);
  expect_nothing(span_cross_entropy(scores, texts, outside, outside).start, scores);
  EXPECT_ERROR("scores: expected the shape [12, 2] for 5 texts",
               span_cross_entropy(scores.narrow(0, 0, 11), texts, starts, ends));
  EXPECT_ERROR("ends: expected an integer for each of 5 texts",
               span_cross_entropy(scores, texts, starts, ends.narrow(0, 0, 4)));
}

TEST_P(LabelLoss, LargeScoresDoNotOverflow) {
  const Tensor scores = ops::full({3}, 1e4, GetParam()).set_needs_gradient();
  const LossSum loss = choice_cross_entropy(scores, Offsets({3}), ops::tensor({1}, kLong));
  EXPECT_NEAR(loss.sum.item<double>(), std::log(3), 1e-6);
}

TEST_P(LabelLoss, HiddenStatesAreComparedByCosine) {
  const Tensor a = leaf({5, 7}), b = leaf({5, 7});
  const LossSum loss = cosine_distance(a, b);
  EXPECT_EQ(loss.count, 5);
  expect_equal(loss.sum, ops::cosine_embedding_loss(a, b, kSum), {a, b});
  const Tensor none = leaf({0, 7});
  expect_nothing(cosine_distance(none, none), none);
  EXPECT_ERROR("as many rows of the same width, found the shapes [5, 7] and [4, 7]",
               cosine_distance(a, b.narrow(0, 0, 4)));
}

TEST_P(LabelLoss, PairsAreContrastedWithinTheBatch) {
  const Tensor a = leaf({4, 6}), b = leaf({7, 6});
  const Tensor scores = 20 * ops::cosine_similarity(a.unsqueeze(1), b.unsqueeze(0), 2);  // [4, 7]
  const Tensor labels = ops::arange(4);
  const Tensor expected = ops::cross_entropy_loss(scores, labels, {}, kSum);
  const LossSum loss = contrastive_cross_entropy(a, b, 20);
  EXPECT_EQ(loss.count, 4);
  expect_equal(loss.sum, expected, {a, b});
  const Tensor back = ops::cross_entropy_loss(scores.narrow(1, 0, 4).t(), labels, {}, kSum);
  const LossSum both = contrastive_cross_entropy(a, b, 20, /*symmetric=*/true);
  EXPECT_EQ(both.count, 4);
  expect_equal(both.sum, (expected + back) / 2, {a, b});
  // Excluded entries have no effect.
  Tensor left_out = ops::zeros({4, b.size(0)}, kBool);
  left_out.narrow(1, 2, 1).fill_(true);
  left_out[2][2] = false;
  const Tensor without = ops::cat({b.narrow(0, 0, 2), b.narrow(0, 3, b.size(0) - 3)});
  const LossSum fewer = contrastive_cross_entropy(a.narrow(0, 0, 2), without, 20);
  const LossSum masked = contrastive_cross_entropy(a.narrow(0, 0, 2), b, 20, false, left_out.narrow(0, 0, 2));
  expect_equal(masked.sum, fewer.sum, {a, b});
  EXPECT_ERROR("nothing on the diagonal, found the shape [4, 7]",
               contrastive_cross_entropy(a, b, 20, false, ops::ones_like(left_out)));
  EXPECT_ERROR("nothing on the diagonal, found the shape [7, 4]",
               contrastive_cross_entropy(a, b, 20, false, left_out.t()));
  const Tensor none = leaf({0, 6});
  expect_nothing(contrastive_cross_entropy(none, b, 20), none);
  EXPECT_ERROR(
      "at least as many second rows as first ones, and of the same width, found the shapes [7, 6] and [4, 6]",
      contrastive_cross_entropy(b, a, 20));
  EXPECT_ERROR("of the same width, found the shapes [4, 6] and [7, 5]",
               contrastive_cross_entropy(a, ops::zeros({7, 5}), 20));
}

TEST_P(LabelLoss, AVectorOfZerosHasAGradient) {
  const Tensor a = ops::zeros({2, 3}, GetParam()).set_needs_gradient(), b = leaf({2, 3});
  const LossSum loss = contrastive_cross_entropy(a, b, 20);
  EXPECT_TRUE(ops::gradients({loss.sum}, {a})[0].isfinite().all().item<bool>());
}

}  // namespace
}  // namespace attend
