// DiLoCo's outer step on two and three processes, which are threads here, compared with the paper's algorithm
// 1 in doubles.
#include "training/optimizers/local_steps.h"

#include "expect_error.h"
#include "parallel/thread_ranks.h"
#include "tensor/ops.h"

#include <cmath>

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::size_t kNumbers = 37;

std::vector<double> values(const Tensor& tensor) {
  const float* const data = tensor.data<float>();
  return {data, data + tensor.numel()};
}

// The weights of a process after its local steps before synchronization `meeting`; `scale`: the size of the
// weights.
double moved(std::int64_t rank, int meeting, std::size_t i, double scale) {
  return scale * std::sin(1.0 + static_cast<double>(rank) * 3 + meeting * 7 + static_cast<double>(i) * 0.7);
}

void expect_outer_steps(std::size_t processes, double scale) {
  const LocalStepOptions options{.steps = 5, .rate = 0.7, .momentum = 0.9};
  // The paper: delta = the mean of (start - weight); Nesterov momentum as in torch.optim.SGD.
  std::vector<double> start(kNumbers), momentum(kNumbers, 0.0);
  for (std::size_t i = 0; i < kNumbers; ++i) start[i] = scale * std::cos(static_cast<double>(i));
  for (int meeting = 0; meeting < 3; ++meeting)
    for (std::size_t i = 0; i < kNumbers; ++i) {
      double delta = 0;
      for (std::size_t rank = 0; rank < processes; ++rank)
        delta -= moved(static_cast<std::int64_t>(rank), meeting, i, scale) / static_cast<double>(processes);
      momentum[i] = options.momentum * momentum[i] + delta;
      start[i] -= options.rate * (delta + options.momentum * momentum[i]);
    }

  on_ranks(processes, [&](Ranks& ranks) {
    const Tensor weight = ops::zeros({kNumbers});
    for (std::size_t i = 0; i < kNumbers; ++i)
      weight.data<float>()[i] = static_cast<float>(scale * std::cos(static_cast<double>(i)));
    const std::vector<Parameter> parameters = {{.name = "weight", .weight = weight}};
    OuterOptimizer outer(ranks, parameters, options);
    for (int meeting = 0; meeting < 3; ++meeting) {
      for (std::size_t i = 0; i < kNumbers; ++i)
        weight.data<float>()[i] += static_cast<float>(moved(ranks.rank(), meeting, i, scale));
      outer.step();
    }
    const std::vector<double> reached = values(weight);
    // Half precision: 11 bits of each change, three times, enlarged by the momentum.
    for (std::size_t i = 0; i < kNumbers; ++i) EXPECT_NEAR(reached[i], start[i], 6e-3 * scale) << i;
    const std::vector<double> kept = values(outer.state().at("outer.weight"));
    for (std::size_t i = 0; i < kNumbers; ++i) EXPECT_NEAR(kept[i], momentum[i], 6e-3 * scale) << i;
  });
}

TEST(LocalSteps, MakeDiLoCosOuterStep) {
  expect_outer_steps(2, 1);
  expect_outer_steps(3, 1);
}

TEST(LocalSteps, SendChangesOfAnySizeInHalfPrecision) {
  expect_outer_steps(2, 1e-9);
  expect_outer_steps(2, 1e9);
}

TEST(LocalSteps, GiveAllProcessesTheSameWeights) {
  std::vector<std::vector<double>> reached(3);
  on_ranks(3, [&](Ranks& ranks) {
    const Tensor weight = ops::zeros({kNumbers});
    const std::vector<Parameter> parameters = {{.name = "weight", .weight = weight}};
    OuterOptimizer outer(ranks, parameters, {.steps = 1});
    for (std::size_t i = 0; i < kNumbers; ++i)
      weight.data<float>()[i] += static_cast<float>(moved(ranks.rank(), 0, i, 1));
    outer.step();
    reached[static_cast<std::size_t>(ranks.rank())] = values(weight);
  });
  EXPECT_EQ(reached[0], reached[1]);
  EXPECT_EQ(reached[0], reached[2]);
}

TEST(LocalSteps, AverageTheStatesOfOptimizers) {
  on_ranks(2, [](Ranks& ranks) {
    const Tensor state = ops::full({3}, ranks.rank() == 0 ? 1.0 : 4.0, kFloat);
    const std::vector<Parameter> parameters = {{.name = "weight", .weight = ops::zeros({3})}};
    OuterOptimizer(ranks, parameters, {.steps = 1}).share_state({{"state", state}});
    EXPECT_EQ(values(state), std::vector<double>(3, 2.5));
  });
}

TEST(LocalSteps, NameAWeightThatIsNotFinite) {
  EXPECT_ERROR("query: a process has gone to numbers that are not finite", on_ranks(2, [](Ranks& ranks) {
                 const Tensor weight = ops::zeros({3});
                 const std::vector<Parameter> parameters = {{.name = "query", .weight = weight}};
                 OuterOptimizer outer(ranks, parameters, {.steps = 1});
                 if (ranks.rank() == 1) weight.data<float>()[1] = std::nanf("");
                 outer.step();
               }));
}

}  // namespace
}  // namespace attend
