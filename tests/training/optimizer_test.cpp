#include "training/optimizers/optimizer.h"

#include "base/file.h"
#include "expect_error.h"
#include "formats/json/json.h"
#include "tensor_checks.h"
#include "test_data.h"
#include "training/optimizers/schedule.h"
#include "training/optimizers/weight_average.h"

#include <cmath>

#include <gtest/gtest.h>

namespace attend {
namespace {

// tests/oracle/make_optimizer_goldens.py
const Json& goldens() {
  static const Json json = read_json(test_data() / "optimizers" / "goldens.json");
  return json;
}

Tensor tensor_of(const Json& numbers, const std::string& name, ScalarType type) {
  return ops::tensor(numbers.at(name).get<std::vector<double>>(), kDouble)
      .reshape(goldens().at("shapes").at(name).get<std::vector<std::int64_t>>())
      .to(type);
}

// The goldens' two matrices, which have weight decay, and their vector, which does not.
std::vector<Parameter> fresh_parameters(ScalarType type = kFloat) {
  std::vector<Parameter> parameters;
  for (const std::string name : {"wide", "tall", "vector"}) {
    Parameter p{name, tensor_of(goldens().at("start"), name, type).set_needs_gradient(true)};
    p.decays = p.hidden_matrix = p.weight.dim() > 1;
    parameters.push_back(p);
  }
  return parameters;
}

// Step `i` (from 0), with gradients twice as large, which the scale undoes.
void take_step(Optimizer& optimizer, std::size_t i, double rate) {
  for (const Parameter& p : optimizer.parameters())
    p.weight.mutable_gradient() = tensor_of(goldens().at("gradients")[i], p.name, p.weight.type()) * 2;
  optimizer.step(rate, 0.5);
}

OptimizerOptions options_of(const Json& json) {
  OptimizerOptions o;
  o.kind = parse_optimizer(json.at("kind"));
  o.beta1 = json.value("beta1", o.beta1), o.beta2 = json.value("beta2", o.beta2);
  o.epsilon = json.value("epsilon", o.epsilon), o.weight_decay = json.value("weight_decay", o.weight_decay);
  o.momentum = json.value("momentum", o.momentum), o.nesterov = json.value("nesterov", o.nesterov);
  const Json adafactor = json.value("adafactor", Json::object()), muon = json.value("muon", Json::object());
  AdafactorOptions& a = o.adafactor;
  a.beta1 = adafactor.value("beta1", a.beta1);
  a.clip_threshold = adafactor.value("clip_threshold", a.clip_threshold);
  a.decay_rate = adafactor.value("decay_rate", a.decay_rate);
  a.epsilon_square = adafactor.value("epsilon", a.epsilon_square);
  o.rate_by_size = adafactor.value("scale_parameter", false);
  o.muon.momentum = muon.value("momentum", o.muon.momentum);
  o.muon.nesterov = muon.value("nesterov", o.muon.nesterov);
  o.muon.steps = muon.value("steps", o.muon.steps);
  o.muon.match_adamw = muon.value("match_adamw", o.muon.match_adamw);
  return o;
}

// The learning rate of step `i` (from 0): Adafactor's relative steps are a schedule here.
double rate_of(const Json& golden, std::size_t i) {
  const Json adafactor = golden.at("options").value("adafactor", Json::object());
  if (!adafactor.value("relative_step", false)) return golden.at("rate");
  Schedule schedule{ScheduleKind::relative_step};
  schedule.warmup_init = adafactor.value("warmup_init", false);
  return schedule.rate(static_cast<std::int64_t>(i) + 1);
}

void expect_weights(const Optimizer& optimizer, const Json& expected, const std::string& what) {
  for (const Parameter& p : optimizer.parameters()) {
    const Tensor other = tensor_of(expected, p.name, kDouble);
    EXPECT_LT((p.weight.detach().to(kDouble) - other).abs().max().item<double>(), 2e-6) << what << p.name;
  }
}

TEST(Optimizer, TakesTheStepsOfTorchAndTransformers) {
  ASSERT_EQ(goldens().at("optimizers").size(), 16u);
  for (const ScalarType type : {kFloat, kDouble})
    for (const Json& golden : goldens().at("optimizers")) {
      const auto optimizer = make_optimizer(fresh_parameters(type), options_of(golden.at("options")));
      const std::string name = golden.at("name").get<std::string>() + ", " + ops::name_of(type) + ": ";
      for (std::size_t i = 0; i < goldens().at("gradients").size(); ++i) {
        take_step(*optimizer, i, rate_of(golden, i));
        if (i == 0) expect_weights(*optimizer, golden.at("first"), name + "first step, ");
      }
      expect_weights(*optimizer, golden.at("last"), name + "last step, ");
    }
}

TEST(Optimizer, GoesOnFromItsStateAsIfItHadNeverStopped) {
  for (const Json& golden : goldens().at("optimizers")) {
    const OptimizerOptions options = options_of(golden.at("options"));
    const auto whole = make_optimizer(fresh_parameters(), options);
    std::vector<Parameter> halfway = fresh_parameters();
    std::map<std::string, Tensor> state;
    for (std::size_t i = 0; i < 10; ++i) {
      if (i == 4) {
        Unrecorded no_grad;
        for (const auto& [name, tensor] : whole->state()) state[name] = tensor.clone();
        for (std::size_t k = 0; k < halfway.size(); ++k)
          halfway[k].weight.copy_(whole->parameters()[k].weight);
      }
      take_step(*whole, i, rate_of(golden, i));
    }
    const auto resumed = make_optimizer(halfway, options);
    resumed->restore(state, 4);
    for (std::size_t i = 4; i < 10; ++i) take_step(*resumed, i, rate_of(golden, i));
    EXPECT_EQ(resumed->steps(), 10);
    for (std::size_t k = 0; k < halfway.size(); ++k)
      EXPECT_TRUE(ops::equal(halfway[k].weight, whole->parameters()[k].weight)) << golden.at("name");
  }
}

TEST(Optimizer, KeepsOnlyRowsAndColumnsOfAMatrixInAdafactor) {
  const auto state = make_optimizer(fresh_parameters(), {.kind = OptimizerKind::adafactor})->state();
  ASSERT_EQ(state.size(), 5u);
  EXPECT_EQ(state.at("row_variance.wide").sizes(), Dimensions({5}));
  EXPECT_EQ(state.at("column_variance.wide").sizes(), Dimensions({7}));
  EXPECT_EQ(state.at("variance.vector").sizes(), Dimensions({5}));
}

TEST(Optimizer, UpdatesStackedMatricesSeparately) {
  const Tensor start = tensor_of(goldens().at("start"), "tall", kFloat);
  for (const OptimizerOptions& options :
       {OptimizerOptions{.kind = OptimizerKind::muon}, OptimizerOptions{.kind = OptimizerKind::adafactor},
        OptimizerOptions{.kind = OptimizerKind::adamw, .rate_by_size = true}}) {
    const Parameter stacked{
        .name = "x", .weight = start.clone().set_needs_gradient(true), .hidden_matrix = true, .parts = 3};
    std::vector<Parameter> apart;
    for (const Tensor& part : start.chunk(3))
      apart.push_back({.name = fmt::format("x{}", apart.size()),
                       .weight = part.clone().set_needs_gradient(true),
                       .hidden_matrix = true});
    const auto one = make_optimizer({stacked}, options), three = make_optimizer(apart, options);
    for (const Json& gradients : goldens().at("gradients")) {
      const Tensor gradient = tensor_of(gradients, "tall", kFloat);
      stacked.weight.mutable_gradient() = gradient;
      for (std::size_t i = 0; i < 3; ++i) apart[i].weight.mutable_gradient() = gradient.chunk(3)[i];
      one->step(0.1, 1);
      three->step(0.1, 1);
    }
    EXPECT_TRUE(ops::equal(stacked.weight, ops::cat({apart[0].weight, apart[1].weight, apart[2].weight})));
    for (const auto& [name, tensor] : one->state()) {  // "mean.x.2" is "mean.x2" there
      const std::string theirs = name.substr(0, name.size() - 2) + name.back();
      EXPECT_TRUE(ops::equal(tensor, three->state().at(theirs))) << name;
    }
  }
}

TEST(Optimizer, ARateBySizeIsTimesTheRootMeanSquareOfTheWeight) {
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::sgd, OptimizerKind::lion,
                                   OptimizerKind::muon, OptimizerKind::adafactor}) {
    std::vector<Parameter> sized = fresh_parameters(), plain = fresh_parameters();
    {
      Unrecorded no_grad;
      for (std::vector<Parameter>* parameters : {&sized, &plain}) (*parameters)[2].weight.zero_();
    }
    for (Parameter& p : plain) p.rate = std::max(1e-3, p.weight.square().mean().sqrt().item<double>());
    const auto one = make_optimizer(sized, {.kind = kind, .rate_by_size = true}),
               two = make_optimizer(plain, {.kind = kind});
    take_step(*one, 0, 0.1);
    take_step(*two, 0, 0.1);
    for (std::size_t i = 0; i < sized.size(); ++i)
      EXPECT_LT((sized[i].weight - plain[i].weight).abs().max().item<double>(), 1e-6);
    EXPECT_GT(sized[2].weight.abs().max().item<double>(), 0) << "zeros learn too";
  }
}

TEST(Optimizer, MuonsStepsHaveSingularValuesNearOne) {
  Parameter p{.name = "x", .weight = ops::zeros({48, 20}).set_needs_gradient(true), .hidden_matrix = true};
  const auto optimizer = make_optimizer({p}, {.kind = OptimizerKind::muon, .muon = {.match_adamw = false}});
  ops::manual_seed(1);
  p.weight.mutable_gradient() = ops::randn({48, 20});
  optimizer->step(1, 1);
  const Tensor values =
      std::get<1>(ops::svd(p.weight.detach(), /*full_matrices=*/false)) / std::sqrt(48.0 / 20);
  EXPECT_GT(values.min().item<double>(), 0.6);
  EXPECT_LT(values.max().item<double>(), 1.3);
}

TEST(Optimizer, SkipsParametersWithoutGradients) {
  std::vector<Parameter> parameters = fresh_parameters();
  parameters[1].weight.set_needs_gradient(false);
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::adafactor, OptimizerKind::sgd,
                                   OptimizerKind::lion, OptimizerKind::muon}) {
    const auto optimizer = make_optimizer(parameters, {.kind = kind, .weight_decay = 0.1});
    EXPECT_EQ(optimizer->parameters().size(), 2u);
    parameters[2].weight.mutable_gradient() = ops::ones({5});
    const Tensor wide = parameters[0].weight.detach().clone(), vector = parameters[2].weight.detach().clone();
    optimizer->step(0.1, 1);
    EXPECT_TRUE(ops::equal(parameters[0].weight, wide));
    EXPECT_FALSE(ops::equal(parameters[2].weight, vector));
    EXPECT_FALSE(parameters[2].weight.gradient().defined()) << "gradients are cleared";
  }
}

TEST(Optimizer, ARateOfAParametersOwnIsAFactor) {
  std::vector<Parameter> slow = fresh_parameters(), usual = fresh_parameters();
  for (Parameter& p : slow) p.rate = 0.25;
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::adafactor, OptimizerKind::sgd,
                                   OptimizerKind::lion, OptimizerKind::muon}) {
    const auto one = make_optimizer(slow, {.kind = kind}), two = make_optimizer(usual, {.kind = kind});
    take_step(*one, 0, 0.2);
    take_step(*two, 0, 0.05);
    for (std::size_t i = 0; i < slow.size(); ++i) EXPECT_TRUE(ops::equal(slow[i].weight, usual[i].weight));
  }
}

TEST(Optimizer, RefusesAStateThatDoesNotFit) {
  const auto optimizer = make_optimizer(fresh_parameters(), {});
  take_step(*optimizer, 0, 0.1);
  const auto own = optimizer->state();
  const Tensor mean = own.at("mean.wide").clone();
  const auto refuses = [&](const char* error, auto spoil) {
    std::map<std::string, Tensor> state;
    for (const auto& [name, tensor] : own) state[name] = tensor + 1;
    spoil(state);
    EXPECT_ERROR(error, optimizer->restore(state, 5));
    EXPECT_TRUE(ops::equal(own.at("mean.wide"), mean)) << "nothing has changed";
    EXPECT_EQ(optimizer->steps(), 1);
  };
  refuses("variance.wide is missing", [](auto& state) { state.erase("variance.wide"); });
  refuses("found Float [7, 5]", [](auto& state) { state["variance.wide"] = ops::zeros({7, 5}); });
  refuses("found Int [5, 7]", [](auto& state) { state["variance.wide"] = ops::zeros({5, 7}, kInt); });
  refuses("variance.wide holds a number that is not finite",
          [](auto& state) { state["variance.wide"][2][3] = NAN; });
}

TEST(Optimizer, RefusesOptionsOutOfRange) {
  const auto refuses = [](const char* error, const OptimizerOptions& options) {
    EXPECT_ERROR(error, make_optimizer(fresh_parameters(), options));
  };
  refuses("optimizer: beta1: expected a number", {.beta1 = 1});
  refuses("optimizer: beta2: expected a number", {.beta2 = NAN});
  refuses("optimizer: weight decay: expected a number", {.weight_decay = -1});
  refuses("Nesterov's variant needs a momentum", {.kind = OptimizerKind::sgd, .nesterov = true});
  refuses("Adafactor's clip threshold: expected a number",
          {.kind = OptimizerKind::adafactor, .adafactor = {.clip_threshold = 0}});
  refuses("Muon's steps: expected a number", {.kind = OptimizerKind::muon, .muon = {.steps = 0}});
  EXPECT_ERROR("`optimizer` adam: expected adamw", parse_optimizer("adam"));
  EXPECT_ERROR("nothing to train: none of 0 parameters", make_optimizer({}, {}));
  std::vector<Parameter> twice = fresh_parameters();
  twice[1].name = twice[0].name;
  EXPECT_ERROR("two parameters are called wide", make_optimizer(twice, {}));
  std::vector<Parameter> uneven = fresh_parameters();
  uneven[0].parts = 3;
  EXPECT_ERROR("wide: expected 3 equal parts", make_optimizer(uneven, {.kind = OptimizerKind::muon}));
  std::vector<Parameter> none = fresh_parameters();
  for (Parameter& p : none) p.hidden_matrix = false;
  EXPECT_ERROR("is a matrix between hidden states", make_optimizer(none, {.kind = OptimizerKind::muon}));
}

TEST(GradientNorm, IsThatOfAllGradientsAndNamesTheFirstThatIsNotFinite) {
  std::vector<Parameter> parameters = fresh_parameters();
  EXPECT_EQ(gradient_norm(parameters).norm, 0) << "no gradients at all";
  parameters[0].weight.mutable_gradient() = ops::full({5, 7}, 2.0f, kFloat);
  parameters[2].weight.mutable_gradient() = ops::full({5}, -1.0f, kFloat);
  EXPECT_NEAR(gradient_norm(parameters).norm, std::sqrt(35 * 4 + 5), 1e-6);
  EXPECT_EQ(gradient_norm(parameters).not_finite, "");
  parameters[1].weight.mutable_gradient() = ops::full({6, 4}, 1e30f, kFloat);
  EXPECT_NEAR(gradient_norm(parameters).norm / (1e30 * std::sqrt(24)), 1, 1e-6) << "squares overflow float32";
  EXPECT_EQ(gradient_norm(parameters).not_finite, "");
  parameters[1].weight.mutable_gradient() = ops::full({6, 4}, NAN, kFloat);
  parameters[2].weight.mutable_gradient() = ops::full({5}, INFINITY, kFloat);
  EXPECT_FALSE(std::isfinite(gradient_norm(parameters).norm));
  EXPECT_EQ(gradient_norm(parameters).not_finite, "tall");
}

TEST(WeightAverage, IsTheMeanUntilItsDecayIsReached) {
  for (const ScalarType type : {kFloat, kDouble}) {
    Parameter p{.name = "x", .weight = ops::full({3}, 100.0, type).set_needs_gradient(true)};
    WeightAverage average(std::span(&p, 1), 0.75);
    double expected = 0;
    for (int n = 1; n <= 12; ++n) {
      Unrecorded no_grad;
      p.weight.fill_(n * n);
      average.update();
      const double kept = std::min(0.75, 1 - 1.0 / n);
      expected = kept * expected + (1 - kept) * n * n;
      EXPECT_NEAR(average.state().at("average.x")[1].item<double>(), expected, 1e-5) << n;
      if (n == 4) {
        EXPECT_NEAR(expected, (1 + 4 + 9 + 16) / 4.0, 1e-12) << "a plain mean so far";
      }
    }
    const std::int64_t version = p.weight.version();
    {
      const WeightAverage::InModel in_model(average);
      EXPECT_NEAR(p.weight[0].item<double>(), expected, 1e-5);
      EXPECT_NE(p.weight.version(), version) << "packed copies must notice";
    }
    EXPECT_EQ(p.weight[2].item<double>(), 144);

    WeightAverage resumed(std::span(&p, 1), 0.75);
    resumed.restore(average.state(), average.updates());
    average.update();
    resumed.update();
    EXPECT_TRUE(ops::equal(average.state().at("average.x"), resumed.state().at("average.x")));
    EXPECT_ERROR("average of weights does not fit: average.x is missing", resumed.restore({}, 3));
    EXPECT_ERROR("the average of weights: decay: expected a number", WeightAverage(std::span(&p, 1), 1));
  }
}

}  // namespace
}  // namespace attend
