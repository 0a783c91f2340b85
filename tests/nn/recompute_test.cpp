#include "nn/transformer/recompute.h"

#include "expect_error.h"
#include "nn/pass/dropout.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(Recompute, CallsTheFunctionAgainWithThePassAsItStood) {
  ops::manual_seed(1);
  const Tensor x = ops::randn({5, 4}).set_needs_gradient(), y = ops::randn({5, 4}).set_needs_gradient();
  const Tensor constant = ops::randn({5, 4}), weight = ops::randn({5, 4}).set_needs_gradient();
  int calls = 0;
  const Recomputable function = [&](const std::vector<Tensor>& inputs, Pass& pass) {
    ++calls;
    return dropout(ops::tanh(inputs[0]) * weight + inputs[1] * inputs[2], 0.5, pass);
  };
  const std::vector<Tensor> inputs{x, y, constant}, leaves{x, y, weight};
  Pass plain = Pass::training(3), again = Pass::training(3);
  const Tensor expected = function(inputs, plain), found = recompute(function, inputs, {weight}, again);
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(ops::equal(found, expected));
  EXPECT_EQ(plain.next_seed(), again.next_seed());
  const Tensor dy = ops::randn({5, 4});
  const auto wanted = ops::gradients({expected}, leaves, {dy});
  EXPECT_EQ(calls, 2);
  const auto gradients = ops::gradients({found}, leaves, {dy});
  EXPECT_EQ(calls, 3);
  for (std::size_t i = 0; i < leaves.size(); ++i) EXPECT_TRUE(ops::equal(gradients[i], wanted[i])) << i;
}

TEST(Recompute, GivesGradientsWhereTheyAreAskedForOnly) {
  const Tensor x = ops::randn({3}), weight = ops::randn({3}).set_needs_gradient(),
               unused = ops::randn({3}).set_needs_gradient();
  Pass pass = Pass::training(1);
  const Recomputable function = [&](const std::vector<Tensor>& inputs, Pass&) { return inputs[0] * weight; };
  recompute(function, {x}, {weight, unused}, pass).sum().backward();
  EXPECT_TRUE(ops::equal(weight.gradient(), x));
  EXPECT_FALSE(unused.gradient().defined());
  const Unrecorded no_grad;
  EXPECT_FALSE(recompute(function, {x}, {weight}, pass).needs_gradient());
}

// It would be computed again with another weight than before.
TEST(Recompute, NoticesThatAParameterWasChanged) {
  const Tensor x = ops::randn({3}).set_needs_gradient(), weight = ops::randn({3}).set_needs_gradient();
  Pass pass = Pass::training(1);
  const Tensor y = recompute([&](const std::vector<Tensor>& inputs, Pass&) { return inputs[0] * weight; },
                             {x}, {weight}, pass);
  {
    const Unrecorded no_grad;
    Tensor changed = weight;
    changed += 1;
  }
  EXPECT_ERROR("was changed in place", y.sum().backward());
}

}  // namespace
}  // namespace attend
