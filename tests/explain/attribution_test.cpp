// Attributions for the network of every family that has a score.
#include "explain/attribution.h"

#include "expect_error.h"
#include "explain/faithfulness.h"
#include "explain/rollout.h"
#include "explain/value_zeroing.h"
#include "explain/zeroed_values.h"
#include "golden_spec.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/padded/forward.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

// Whether a model has a score for the whole text, or for its tokens.
bool has_score(const std::string& name) {
  const ModelSpec spec = golden_spec(name);
  const bool labels = spec.score_head && spec.score_head->kind == ScoreKind::sequence_classification;
  return spec.language_model_head || (labels && !(spec.encoder && spec.decoder));
}

// Whether tokens choose experts. When a token changes its choice, the score jumps, and gradients do not show
// that.
bool chooses_experts(const std::string& name) {
  const ModelSpec spec = golden_spec(name);
  return spec.decoder && std::ranges::any_of(spec.decoder->layers, [](const LayerSpec& layer) {
           return layer.experts.has_value();
         });
}

std::vector<std::string> networks_with_scores() {
  std::vector<std::string> names = golden_networks();
  std::erase_if(names, [](const std::string& name) { return !has_score(name); });
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

// A model with an input and a question, as in attribute().
class Case {
 public:
  explicit Case(const std::string& name)
      : model(PretrainedModel::load(ModelDirectory(test_data() / "models" / name), {.packs = false})) {
    Transformer network = model.network();
    const auto& scores = network->spec().score_head;
    asked.label = !network->language_model_head;
    GivenInput given;
    if (network->reads_images()) {
      const PatchSpec& patches = network->encoder->patches->spec();
      given.pixels = ops::sin(ops::arange(patches.channels * patches.height * patches.width, kFloat))
                         .view({1, patches.channels, patches.height, patches.width});
    } else {
      given.ids = ids(7, network->encoder ? network->encoder : network->decoder);
    }
    if (network->is_encoder_decoder()) given.target_ids = ids(5, network->decoder);
    function.emplace(model, given);
    asked.place = network->is_encoder_decoder() ? 3 : network->decoder ? 6 : 2;
    asked.toward = asked.label && scores->labels == 1 ? 0 : 1;
    task.emplace(AttributionTask{.function = *function, .asked = asked, .replaceable = {}, .baseline = {}});
    for (std::size_t side = 0; side < function->sides(); ++side) {
      task->baseline.push_back(function->inputs()[side].clone());
      for (std::int64_t i = 1; i < std::min<std::int64_t>(5, function->inputs()[side].size(0)); ++i) {
        if (side + 1 == function->sides() && !asked.label && network->decoder && i > asked.place) continue;
        if (!function->is_picture())
          task->baseline.back()[i].copy_(function->vector_of(side, 3));
        else
          task->baseline.back()[i].zero_();
        task->replaceable.push_back({side, i});
      }
    }
  }

  static Tensor ids(std::int64_t count, const Stack& stack) {
    const std::int64_t most = stack->embeddings->spec().vocabulary;
    return (ops::arange(count, kLong) * 5 + 4).remainder(most - 4) + 4;
  }

  std::vector<Tensor> inputs(double factor = 1) const {
    std::vector<Tensor> x;
    for (const Tensor& side : function->inputs()) x.push_back(side.unsqueeze(0) * factor);
    return x;
  }
  double score(const std::vector<Tensor>& x) const {
    const Unrecorded no_gradients;
    Pass pass = Pass::inference();
    return asked.of(function->scores(x, asked, pass)).item<double>();
  }
  // As the model itself computes it, from ids.
  double score_of(Tensor ids, Tensor target) const {
    const Unrecorded no_gradients;
    std::map<std::string, Tensor> given;
    if (function->is_picture())
      given["pixel_values"] = function->input().pixels;
    else
      given["input_ids"] = ids.unsqueeze(0);
    if (target.defined()) given["decoder_input_ids"] = target.unsqueeze(0);
    const auto outputs = run_forward(model, given, {});
    for (const char* name : {"logits", "prediction_logits", "prediction_scores"})
      if (const auto found = outputs.find(name); found != outputs.end())
        return (asked.label ? found->second[0] : found->second[0][asked.place])[asked.toward].item<double>();
    fail("no scores");
  }

  PretrainedModel model;
  AskedScore asked;
  std::optional<ExplainedScore> function;
  std::optional<AttributionTask> task;
};

double sum_of(const TokenScores& scores) {
  double sum = 0;
  for (const Tensor& side : scores) sum += side.sum().item<double>();
  return sum;
}

class Attributed : public testing::TestWithParam<std::string> {};
class GivenVectors : public Attributed {};  // of models that read one text at a time

TEST_P(GivenVectors, GiveWhatIdsGive) {
  const Case c(GetParam());
  const GivenInput& given = c.function->input();
  EXPECT_NEAR(c.score(c.inputs()), c.score_of(given.ids, given.target_ids), 2e-5);
  if (c.function->is_picture()) return;
  // With another token at a position, in both directions.
  for (std::size_t side = 0; side < c.function->sides(); ++side) {
    std::vector<Tensor> x = c.inputs();
    x[side][0][2].copy_(c.function->vector_of(side, 6));
    Tensor ids = given.ids.clone(), target = given.target_ids.defined() ? given.target_ids.clone() : Tensor();
    (side == 0 ? ids : target)[2] = 6;
    EXPECT_NEAR(c.score(x), c.score_of(ids, target), 2e-5) << "side " << side;
  }
}

TEST_P(Attributed, GradientTimesInputIsTheSlopeTowardsTheInput) {
  const Case c(GetParam());
  const double slope = (c.score(c.inputs(1.002)) - c.score(c.inputs(0.998))) / 0.004;
  EXPECT_NEAR(sum_of(gradient_times_input(*c.task)), slope, 0.02 + 0.02 * std::abs(slope));
}

TEST_P(Attributed, IntegratedGradientsAddUp) {
  const Case c(GetParam());
  const IntegratedGradients found = integrated_gradients(*c.task, 100);
  const auto& [score, baseline, sum] = found.completeness;
  EXPECT_NEAR(score, c.score(c.inputs()), 1e-5);
  EXPECT_NEAR(sum_of(found.scores), sum, 1e-4);
  const double gap = std::abs(found.completeness.gap()),
               limit = 0.01 * std::max(0.1, std::abs(score - baseline));
  // If the score changes sharply, as in Transformer-XL, more steps are needed.
  if (gap >= limit && !chooses_experts(GetParam())) {
    const double finer = std::abs(integrated_gradients(*c.task, 3000).completeness.gap());
    EXPECT_LT(finer, std::max(limit, gap / 2));
  }
  // A token that is not removed has no attribution.
  EXPECT_EQ(found.scores[0][0].item<float>(), 0);
}

TEST_P(Attributed, OcclusionIsWhatTheScoreLoses) {
  const Case c(GetParam());
  const TokenScores found = occlusion(*c.task);
  const auto [side, token] = c.task->replaceable.back();
  std::vector<Tensor> x = c.inputs();
  x[side][0][token].copy_(c.task->baseline[side][token]);
  EXPECT_NEAR(found[side][token].item<double>(), c.score(c.inputs()) - c.score(x), 2e-5);
}

TEST_P(Attributed, RolloutsAreShares) {
  const Case c(GetParam());
  for (const TokenScores& found : {attention_rollout(*c.task), value_zeroing(*c.task)}) {
    EXPECT_NEAR(sum_of(found), 1, 1e-4);
    for (const Tensor& side : found) EXPECT_GE(side.min().item<double>(), 0);
    for (std::size_t side = 0; side < found.size(); ++side)
      EXPECT_EQ(found[side].size(0), c.function->inputs()[side].size(0));
    // A decoder's row does not depend on later tokens.
    if (c.model.network()->decoder && !c.asked.label) {
      const Tensor after =
          found.back().narrow(0, c.asked.place + 1, found.back().size(0) - c.asked.place - 1);
      EXPECT_NEAR(after.sum().item<double>(), 0, 1e-9);
    }
  }
}

TEST_P(Attributed, WeightsHaveTheGradientsThatTheyShould) {
  const Case c(GetParam());
  const TokenScores found = gradient_rollout(*c.task);
  for (const Tensor& side : found) {
    EXPECT_TRUE(side.isfinite().all().item<bool>());
    EXPECT_GE(side.min().item<double>(), -1e-9);
  }
  EXPECT_GT(sum_of(found), 0);
}

TEST(ValueZeroing, LeavesNothingOfValuesToWhichTheAttentionAddsABias) {
  const PretrainedModel model =
      PretrainedModel::load(ModelDirectory(test_data() / "models" / "deberta-masked-lm"), Purpose::training);
  Stack stack = model.network()->encoder;
  const OneLayer layer(stack, 0);
  const AttentionSpec& spec = layer.spec().self_attention;
  const std::int64_t n = 3, w = spec.heads * spec.head_size;
  const Unrecorded no_gradients;
  const Tensor x = ops::sin(ops::arange(n * layer.query_key_value().weight.size(1), kFloat)).view({n, -1});
  const auto run = [&](Pass pass) { return layer.run(x, Offsets({n}), {}, {}, {}, pass); };
  ASSERT_GT(layer.value_bias().abs().max().item<float>(), 0);
  Tensor without;
  {
    const ZeroedValues zeroed(layer.query_key_value(), 2 * w, w, 0, layer.value_bias());
    Pass pass = Pass::inference();
    pass.adapters = zeroed.in({0, 1, 2}, n);
    without = run(pass);
  }
  EXPECT_TRUE(layer.query_key_value().adapters.empty());
  // As if the model had neither the values' matrix nor their bias.
  layer.query_key_value().weight.narrow(0, 2 * w, w).zero_();
  layer.value_bias().zero_();
  EXPECT_LT((run(Pass::inference()) - without).abs().max().item<float>(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Families, Attributed, testing::ValuesIn(networks_with_scores()), test_name);
INSTANTIATE_TEST_SUITE_P(Families, GivenVectors, testing::ValuesIn([] {
                           std::vector<std::string> names = networks_with_scores();
                           std::erase(names, "gpt2-double-heads-model");
                           return names;
                         }()),
                         test_name);

TEST(Attribution, GaussAndLegendreIntegratePolynomials) {
  for (const int points : {1, 2, 5, 50}) {
    double weights = 0;
    for (const auto& [place, weight] : gauss_legendre(points)) weights += weight;
    EXPECT_NEAR(weights, 1, 1e-12);
    for (int power = 0; power < 2 * points && power < 40; ++power) {
      double sum = 0;
      for (const auto& [place, weight] : gauss_legendre(points)) sum += weight * std::pow(place, power);
      EXPECT_NEAR(sum, 1.0 / (power + 1), 1e-12) << points << " points, power " << power;
    }
  }
}

TEST(Attribution, RollsOutFromTheLastLayerToTheFirst) {
  const Tensor first = ops::tensor({1.0, 0.0, 0.5, 0.5}).view({2, 2}),
               second = ops::tensor({0.2, 0.8, 0.0, 1.0}).view({2, 2});
  const Tensor row = roll_out({first, second}, ops::tensor({1.0, 0.0}, kDouble));
  EXPECT_NEAR(row[0].item<double>(), 0.2 + 0.8 * 0.5, 1e-6);
  EXPECT_NEAR(row[1].item<double>(), 0.4, 1e-6);
}

TEST(Attribution, FaithfulnessFollowsTheOrder) {
  const Case c("bert-classifier");
  const TokenScores important = occlusion(*c.task);
  TokenScores opposite;
  for (const Tensor& side : important) opposite.push_back(-side);
  const auto best = faithfulness(*c.task, important), worst = faithfulness(*c.task, opposite);
  ASSERT_TRUE(best && worst);
  EXPECT_GT(best->comprehensiveness, worst->comprehensiveness);
  EXPECT_EQ(best->curve.size(), c.task->replaceable.size() + 1);
  EXPECT_EQ(best->curve.back().taken, std::ssize(c.task->replaceable));
  // With none and with all removed, the order does not matter.
  EXPECT_NEAR(best->curve.front().certainty, worst->curve.front().certainty, 1e-6);
  EXPECT_NEAR(best->curve.back().certainty, worst->curve.back().certainty, 1e-6);
  AttributionTask none{
      .function = *c.function, .asked = c.asked, .replaceable = {}, .baseline = c.task->baseline};
  EXPECT_FALSE(faithfulness(none, important));
}

TEST(Attribution, BlockSparseAttentionHasNoWeightGradients) {
  const PretrainedModel model =
      PretrainedModel::load(ModelDirectory(test_data() / "models" / "big-bird-masked-lm"), {.packs = false});
  const ExplainedScore function(model, {.ids = Case::ids(16, model.network()->encoder)});
  const AttributionTask task{
      .function = function, .asked = {.place = 2, .toward = 1}, .replaceable = {}, .baseline = {}};
  EXPECT_ERROR("the gradient-weighted rollout: in blocks (BigBird)", gradient_rollout(task));
  EXPECT_NEAR(sum_of(attention_rollout(task)), 1, 1e-4);
}

}  // namespace
}  // namespace attend
