#include "objectives/preferences.h"

#include "models/adapters/adapter.h"
#include "nn/transformer/token_probabilities.h"
#include "objectives/base/kinds.h"
#include "objectives/talk_setting.h"
#include "tensor_checks.h"
#include "training/evaluate.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::string_view kTexts = R"({"prompt": "w1 w2 ", "chosen": "w3 w4", "rejected": "w5"})"
                                    "\n"
                                    R"({"prompt": "w6 ", "chosen": "w7", "rejected": "w8 w9 w10"})"
                                    "\n";

struct PreferenceSetting : TalkSetting {
  PreferenceSetting() {
    write_file("pairs.jsonl", kTexts);
    recipe.beta = 0.7;
  }
  Preferences make() const { return Preferences(setting()); }
  Batch batch() const { return make().collate(std::vector<std::int64_t>{0, 1}, {}); }
  // Sums of all terms, with a reference that has other weights.
  std::vector<double> sums(const Trainee& given) const {
    Trainee trainee = given;
    Pass pass = Pass::inference();
    std::vector<double> values;
    for (const Tensor& sum : make().losses(trainee, batch(), pass, {}).sums)
      values.push_back(sum.item<double>());
    return values;
  }
  PretrainedModel other() const {
    return PretrainedModel::fresh(ModelDirectory(directory().path()).config(), 9);
  }
  Trainee compared() const {
    Trainee trainee = this->trainee();
    trainee.set_reference(other());
    return trainee;
  }
};

// The log-probability of each text's answer, token by token.
std::vector<double> answer_logs(const PretrainedModel& model, const Batch& batch) {
  Transformer network = model.network();
  Pass pass = Pass::inference();
  std::vector<double> all;
  for (std::int64_t b = 0; b < batch.tokens.offsets.count(); ++b) {
    const TokenBatch text = TokenBatch::from({ids_of(batch.tokens, b)});
    const Tensor logs =
        ops::log_softmax(network->language_model_head(network->decode(text, pass), pass), 1);  // [T, V]
    const TokenIds labels = ids_of(batch.token_labels, batch.tokens.offsets, b);
    double sum = 0;
    for (std::size_t t = 0; t < labels.size(); ++t)
      if (labels[t] != kIgnoredLabel) sum += logs[static_cast<std::int64_t>(t)][labels[t]].item<double>();
    all.push_back(sum);
  }
  return all;
}

double log_sigmoid(double x) {
  return -std::log1p(std::exp(-x));
}

TEST(Preferences, BothAnswersFollowTheirPrompt) {
  PreferenceSetting setting;
  setting.directory().file("tokenizer_config.json", R"({"eos_token": "end"})");
  const Batch batch = setting.batch();
  EXPECT_EQ(setting.words(ids_of(batch.tokens, 0)), "<bos> w1 w2 w3 w4 end");
  EXPECT_EQ(setting.words(ids_of(batch.token_labels, batch.tokens.offsets, 0)), "- - w3 w4 end -");
  EXPECT_EQ(setting.words(ids_of(batch.tokens, 3)), "<bos> w6 w8 w9 w10 end");
  EXPECT_EQ(batch.groups.lengths(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(batch.counts, std::vector<std::int64_t>(7, 2));
  EXPECT_EQ(setting.make().tokens(0), 11);

  setting.recipe.chat_template = kTurns;
  setting.write_file(
      "pairs.jsonl",
      R"({"prompt": [{"role": "user", "content": "w1"}],)"
      R"( "chosen": [{"role": "assistant", "content": "w2"}],)"
      R"( "rejected": [{"role": "assistant", "content": "w3"}, {"role": "user", "content": "w4"}]})"
      "\n");
  const Batch talk = setting.make().collate(std::vector<std::int64_t>{0}, {});
  EXPECT_EQ(setting.words(ids_of(talk.tokens, 1)), "user w1 end assistant w3 end user w4 end");
  EXPECT_EQ(setting.words(ids_of(talk.token_labels, talk.tokens.offsets, 1)), "- - - w3 end user w4 end -");
}

TEST(Preferences, LossesAreThoseOfTheirPapers) {
  PreferenceSetting setting;
  const Trainee trainee = setting.compared();
  const Batch batch = setting.batch();
  const std::vector<double> ours = answer_logs(trainee.model(), batch),
                            theirs = answer_logs(*trainee.reference(), batch);
  const std::vector<double> lengths = {2, 1, 1, 3};
  std::vector<double> rewards(4);
  for (std::size_t i = 0; i < 4; ++i) rewards[i] = setting.recipe.beta * (ours[i] - theirs[i]);
  const auto sum_over = [&](const std::function<double(double, std::size_t)>& loss) {
    return loss(rewards[0] - rewards[1], 0) + loss(rewards[2] - rewards[3], 2);
  };
  const auto expect = [&](const char* type, double smoothing,
                          const std::function<double(double, std::size_t)>& loss) {
    setting.recipe.loss_type = type;
    setting.recipe.label_smoothing = smoothing;
    EXPECT_NEAR(setting.sums(trainee)[0], sum_over(loss), 1e-4) << type << " " << smoothing;
  };
  expect("sigmoid", 0, [](double d, std::size_t) { return -log_sigmoid(d); });
  expect("sigmoid", 0.1, [](double d, std::size_t) { return -0.9 * log_sigmoid(d) - 0.1 * log_sigmoid(-d); });
  expect("robust", 0.1,
         [](double d, std::size_t) { return (-0.9 * log_sigmoid(d) + 0.1 * log_sigmoid(-d)) / 0.8; });
  expect("hinge", 0, [](double d, std::size_t) { return std::max(0.0, 1 - d); });
  expect("ipo", 0, [&](double, std::size_t i) {
    const double beta = setting.recipe.beta;
    const double d = (rewards[i] / lengths[i] - rewards[i + 1] / lengths[i + 1]) / beta;
    return std::pow(d - 1 / (2 * beta), 2);
  });

  setting.recipe = {};
  setting.recipe.beta = 0.7;
  const std::vector<double> figures = setting.sums(trainee);
  EXPECT_NEAR(figures[1], rewards[0] + rewards[2], 1e-4);
  EXPECT_NEAR(figures[2], rewards[1] + rewards[3], 1e-4);
  EXPECT_EQ(figures[3], (rewards[0] > rewards[1]) + (rewards[2] > rewards[3]));
  EXPECT_NEAR(figures[4], rewards[0] - rewards[1] + rewards[2] - rewards[3], 1e-4);
  EXPECT_NEAR(figures[5], ours[0] + ours[2], 1e-4);
  EXPECT_NEAR(figures[6], ours[1] + ours[3], 1e-4);
}

TEST(Preferences, FiguresAreNotLearned) {
  PreferenceSetting setting;
  std::vector<std::string> learned, figures;
  for (const Term& term : setting.make().terms()) (term.weight > 0 ? learned : figures).push_back(term.name);
  EXPECT_EQ(learned, std::vector<std::string>{"preference"});
  EXPECT_EQ(figures, (std::vector<std::string>{"rewards/chosen", "rewards/rejected", "rewards/accuracies",
                                               "rewards/margins", "logps/chosen", "logps/rejected"}));
  Trainee trainee = setting.compared();
  const Preferences objective = setting.make();
  for (const Score& score : evaluate(trainee, objective, {1000, 2})) {
    if (score.name == "rewards/accuracies" || score.name == "rewards/margins") {
      EXPECT_TRUE(score.higher_is_better) << score.name;
    }
    if (score.name == "loss" || score.name == "rewards/rejected") {
      EXPECT_FALSE(score.higher_is_better) << score.name;
    }
  }
}

// The reference of a new adapter is the model without it. The adapter starts with no effect, so nothing is
// preferred yet.
TEST(Preferences, AnAdapterIsSwitchedOffForTheReference) {
  PreferenceSetting setting;
  setting.recipe.lora = 2;
  Trainee trainee = setting.trainee();
  kPreferences.join(trainee, setting.setting());
  EXPECT_FALSE(trainee.reference());
  AdapterOptions options;
  options.rank = 2;
  trainee.adapt(options, "CAUSAL_LM", 4);
  EXPECT_NEAR(setting.sums(trainee)[0], 2 * std::log(2), 1e-5);
  // An adapter that has been trained: the same result as with the model itself as reference.
  for (const auto& [name, tensor] : trainee.parameters()) {
    const ops::Unrecorded unrecorded;
    tensor.copy_(ops::randn(tensor.sizes(), tensor.type()));
  }
  const std::vector<double> switched = setting.sums(trainee);
  EXPECT_GT(std::abs(switched[0] - 2 * std::log(2)), 1e-3);
  trainee.set_reference(setting.trainee().model());
  const std::vector<double> beside = setting.sums(trainee);
  for (std::size_t i = 0; i < beside.size(); ++i) EXPECT_NEAR(switched[i], beside[i], 1e-4) << i;
}

TEST(Preferences, TheReferenceIsWhereTheModelStarts) {
  PreferenceSetting setting;
  setting.trainee().model().save(setting.directory().path());
  Trainee trainee(PretrainedModel::load(ModelDirectory(setting.directory().path()), Purpose::training));
  kPreferences.join(trainee, setting.setting());
  ASSERT_TRUE(trainee.reference());
  EXPECT_NEAR(setting.sums(trainee)[0], 2 * std::log(2), 1e-5);
  // The modules that are trained whole differ from those of the model without the adapter.
  setting.recipe.lora = 2;
  setting.recipe.modules_to_save = {"lm_head"};
  Trainee other(PretrainedModel::load(ModelDirectory(setting.directory().path()), Purpose::training));
  kPreferences.join(other, setting.setting());
  EXPECT_TRUE(other.reference());
}

TEST(Preferences, SayWhatIsWrong) {
  PreferenceSetting setting;
  const auto error = [&] { return error_of([&] { setting.make(); }); };
  setting.recipe.loss_type = "dpo";
  EXPECT_TRUE(contains(error(), "`loss_type` dpo: expected one of sigmoid, robust, hinge, ipo"));
  setting.recipe.loss_type = "hinge";
  setting.recipe.label_smoothing = 0.1;
  EXPECT_TRUE(contains(error(), "`label_smoothing`: it has no effect with `loss_type` hinge"));
  setting.recipe.loss_type = "robust";
  setting.recipe.label_smoothing = 0.5;
  EXPECT_TRUE(contains(error(), "from 0 to below 0.5"));
  setting.recipe = {};
  setting.recipe.beta = 0;
  EXPECT_TRUE(contains(error(), "`beta` 0: expected a number above 0"));
  setting.recipe = {};
  Trainee trainee = setting.trainee();
  EXPECT_TRUE(contains(error_of([&] { setting.sums(trainee); }), "`reference`: expected a model"));
  setting.recipe.max_length = 2;
  EXPECT_TRUE(contains(error(), "expected a larger `max_length`"));
  setting.recipe = {};
  setting.write_file("pairs.jsonl", "{\"prompt\": \"w1 \", \"chosen\": \"w2\", \"rejected\": \"w2\"}\n");
  EXPECT_TRUE(contains(error(), "line 1: chosen and rejected: expected two answers, found the same"));
  setting.write_file("pairs.jsonl", std::string(kTexts) +
                                        R"({"prompt": [{"role": "user"}], "chosen": [{"role": "assistant"}],)"
                                        R"( "rejected": [{"role": "user"}]})"
                                        "\n");
  EXPECT_EQ(setting.make().examples(), 2) << "a bad row is left out";
}

}  // namespace
}  // namespace attend
