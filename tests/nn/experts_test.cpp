// Experts against their definition: every expert computes every token, and most weights are zero.
#include "nn/layers/experts.h"

#include "nn/transformer/initialize.h"
#include "nn/transformer/transformer.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::int64_t kTokenWidth = 12, kTexts = 23;

struct Case {
  const char* name;
  FeedForwardSpec each;
  ExpertsSpec experts;
};

std::vector<Case> cases() {
  const FeedForwardSpec silu{.width = 9, .activation = Activation::silu, .gated = true, .bias = false};
  FeedForwardSpec bounded = silu, plain = silu;
  bounded.activation = Activation::quick_gelu;
  bounded.limit = 0.7;
  bounded.shift = 1;
  bounded.bias = true;
  plain.gated = false;
  return {
      {"Mixtral", silu, {.count = 5, .chosen = 2}},
      {"QwenMoe", silu, {.count = 7, .chosen = 3, .weights_sum_to_one = false, .shared = silu}},
      {"GptOss", bounded, {.count = 4, .chosen = 2, .router_bias = true, .balances_weights = true}},
      {"OneOfOne", plain, {.count = 1, .chosen = 1}},
      {"All", plain, {.count = 3, .chosen = 3}},
  };
}

Experts make(const Case& c) {
  ops::manual_seed(7);
  Experts experts(kTokenWidth, c.each, c.experts);
  const Unrecorded no_grad;
  for (Tensor& parameter : experts->parameters()) parameter.copy_(ops::randn(parameter.sizes()) * 0.7);
  return experts;
}

// The weight of each expert for each token: [T, experts].
Tensor all_weights(const Tensor& scores, const ExpertsSpec& spec) {
  Tensor chosen = ops::zeros(scores.sizes(), scores.type());
  const Tensor greatest = std::get<1>(scores.detach().topk(spec.chosen, 1));
  chosen.scatter_(1, greatest, ops::ones(greatest.sizes(), scores.type()));
  const Tensor weights = ops::softmax(scores, -1) * chosen;
  return spec.weights_sum_to_one ? weights / weights.sum(1, /*keep=*/true) : weights;
}

Tensor expected_of(const Experts& experts, const Case& c, const Tensor& x) {
  const auto parameters = experts->named_parameters();
  const auto part = [&](const std::string& name, std::int64_t e) {
    const Tensor* const all = parameters.find(name);
    if (all == nullptr) return Tensor();
    const std::int64_t rows = all->size(0) / c.experts.count;
    return all->narrow(0, e * rows, rows);
  };
  const auto bias = [&](const char* name) {
    const Tensor* const found = parameters.find(name);
    return found ? *found : Tensor();
  };
  const auto activate_plainly = [&](const Tensor& t) {
    return c.each.activation == Activation::silu ? ops::silu(t) : t * ops::sigmoid(1.702 * t);
  };
  const auto inner = [&](const Tensor& in) {
    if (!c.each.gated) return activate_plainly(in);
    Tensor first = in.chunk(2, 1)[0], second = in.chunk(2, 1)[1];
    if (c.each.limit > 0) {
      first = first.clamp_max(c.each.limit);
      second = second.clamp(-c.each.limit, c.each.limit);
    }
    return activate_plainly(first) * (second + c.each.shift);
  };
  const Tensor weights =
      all_weights(ops::linear(x, parameters["router.weight"], bias("router.bias")), c.experts);
  Tensor sum = ops::zeros(x.sizes(), x.type());
  for (std::int64_t e = 0; e < c.experts.count; ++e) {
    const Tensor made = inner(ops::linear(x, part("in.weight", e), part("in.bias", e)));
    sum = sum + ops::linear(made, part("out.weight", e), part("out.bias", e)) * weights.narrow(1, e, 1);
  }
  if (!c.experts.shared) return sum;
  const Tensor made = inner(ops::linear(x, parameters["shared.in.weight"], Tensor()));
  return sum + ops::linear(made, parameters["shared.out.weight"], Tensor()) *
                   ops::sigmoid(ops::linear(x, parameters["shared_gate.weight"], Tensor()));
}

double difference(const Tensor& a, const Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(Experts, GiveTheSumOfThoseThatAreChosen) {
  for (const Case& c : cases())
    for (const ScalarType type : {kFloat, kDouble}) {
      SCOPED_TRACE(c.name);
      Experts experts = make(c);
      ops::convert(*experts, type);
      const double limit = type == kDouble ? 1e-12 : 1e-4;
      const Tensor start = ops::randn({kTexts, kTokenWidth}, type),
                   dy = ops::randn({kTexts, kTokenWidth}, type);
      const Tensor x = start.clone().set_needs_gradient(true), y = start.clone().set_needs_gradient(true);
      Pass pass = Pass::inference();
      const Tensor found = experts(x, Tensor(), 0, pass, nullptr), expected = expected_of(experts, c, y);
      EXPECT_LT(difference(found, expected), limit);
      const std::vector<Tensor> weights = experts->parameters();
      std::vector<Tensor> leaves{x}, other{y};
      for (std::vector<Tensor>* all : {&leaves, &other})
        all->insert(all->end(), weights.begin(), weights.end());
      const auto gradients = ops::gradients({found}, leaves, {dy}),
                 wanted = ops::gradients({expected}, other, {dy});
      for (std::size_t i = 0; i < leaves.size(); ++i)
        EXPECT_LT(difference(gradients[i], wanted[i]), 10 * limit) << i;
    }
}

TEST(Experts, ARowDoesNotDependOnOtherRows) {
  const Unrecorded no_grad;
  for (const Case& c : cases())
    for (const WeightFormat format : {WeightFormat::float32, WeightFormat::int8, WeightFormat::int4}) {
      SCOPED_TRACE(c.name);
      Experts experts = make(c);
      for (const char* name : {"in", "out"}) {
        auto* const matrix = experts->named_modules("", false)[name]->as<LinearImpl>();
        matrix->pack(PackedMatrix::make(matrix->weight, format));
      }
      const Tensor x = ops::randn({kTexts, kTokenWidth});
      Pass pass = Pass::inference();
      const Tensor together = experts(x, Tensor(), 0, pass, nullptr);
      for (std::int64_t t = 0; t < kTexts; ++t)
        EXPECT_TRUE(
            ops::equal(experts(x.narrow(0, t, 1), Tensor(), 0, pass, nullptr), together.narrow(0, t, 1)));
    }
}

TEST(Experts, ComputeEachRowWithItsAdapter) {
  const Unrecorded no_grad;
  Experts experts = make(cases()[0]);
  auto& in = experts->named_modules("", false)["in"]->as<LinearImpl>()->adapters;
  for (std::int64_t adapter = 0; adapter < 2; ++adapter)
    for (std::int64_t e = 0; e < 5; ++e) {
      MatrixAdapter m;
      m.adapter = adapter;
      m.first = e * 18 + 9 * adapter;
      m.count = 9;
      m.a = ops::randn({2, kTokenWidth});
      m.b = ops::randn({9, 2});
      in.push_back(m);
    }
  const Tensor x = ops::randn({kTexts, kTokenWidth});
  Pass pass = Pass::inference();
  std::vector<Tensor> alone;
  for (std::int64_t adapter = -1; adapter < 2; ++adapter) {
    pass.adapters = std::make_shared<const AdapterChoice>(AdapterChoice{.only = adapter});
    alone.push_back(experts(x, Tensor(), 0, pass, nullptr));
  }
  EXPECT_GT(difference(alone[0], alone[1]), 0.01);
  std::vector<std::optional<std::int64_t>> chosen;
  for (std::int64_t t = 0; t < kTexts; ++t) chosen.emplace_back(t / 3 % 3 - 1);
  pass.adapters = choose_adapters(chosen);
  const Tensor mixed = experts(x, Tensor(), 0, pass, nullptr);
  for (std::int64_t t = 0; t < kTexts; ++t)
    EXPECT_TRUE(ops::equal(mixed[t], alone[static_cast<std::size_t>(t / 3 % 3)][t])) << t;
}

// Experts that are chosen equally often, with equal probabilities, have the smallest loss: `chosen`.
TEST(RouterLoss, SaysHowUnequalExpertsAre) {
  const Tensor equal = ops::tensor({5.F, 4.F, 0.F, 0.F, 0.F, 0.F, 5.F, 4.F}).view({2, 4});
  EXPECT_NEAR(router_loss({equal}, 2).item<double>(), 2, 1e-6);
  const Tensor unequal = ops::tensor({5.F, 4.F, 0.F, 0.F, 5.F, 4.F, 0.F, 0.F}).view({2, 4});
  EXPECT_GT(router_loss({unequal}, 2).item<double>(), 3.9);
  // Over all layers.
  const Tensor first = unequal.narrow(0, 0, 1), second = equal.narrow(0, 1, 1);
  EXPECT_NEAR(router_loss({first, second}, 2).item<double>(), 2, 1e-6);
}

// The router outputs of recomputed layers have gradients too.
TEST(RouterLoss, IsTheSameWhereLayersAreComputedAgain) {
  ModelSpec spec;
  const Case c = cases()[0];
  const LayerSpec layer{
      .order = NormOrder::pre,
      .norm = {1e-5},
      .self_attention = {.heads = 3, .head_size = 4, .scale = 0.5, .causal = true},
      .cross_attention = {},
      .feed_forward = c.each,
      .experts = c.experts,
  };
  LayerSpec without = layer;
  without.experts.reset();
  StackSpec decoder;
  decoder.embeddings.vocabulary = 31;
  decoder.embeddings.width = kTokenWidth;
  decoder.embeddings.positions = {};
  decoder.layers = {layer, without, layer};
  spec.decoder = decoder;
  spec.initialization.range = 0.5;
  Transformer network(spec);
  initialize(network, 3);
  const TokenBatch batch =
      TokenBatch::from(std::vector<std::vector<std::int64_t>>{{1, 5, 9, 2, 7}, {4}, {8, 8, 3}});
  std::map<bool, std::vector<Tensor>> gradients;
  for (const bool again : {false, true}) {
    Capture capture;
    capture.routing = true;
    Pass pass = Pass::training(5);
    pass.recompute = again;
    pass.capture = &capture;
    const Tensor hidden = network->decode(batch, pass);
    ASSERT_EQ(capture.decoder.routing.size(), 2U);
    const Tensor loss = hidden.sum() + router_loss(capture.decoder.routing, 2) * 3;
    gradients[again] =
        ops::gradients({loss}, network->parameters(), {ops::ones({})}, {.may_be_unused = true});
  }
  for (std::size_t i = 0; i < gradients[false].size(); ++i) {
    ASSERT_EQ(gradients[false][i].defined(), gradients[true][i].defined());
    if (!gradients[false][i].defined()) continue;
    EXPECT_TRUE(ops::equal(gradients[false][i], gradients[true][i])) << i;
  }
}

}  // namespace
}  // namespace attend
