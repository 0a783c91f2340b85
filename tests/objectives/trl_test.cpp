// Conversations and preferences, compared with trl's results (tests/oracle/training/conversations.py
// --goldens).
#include "base/file.h"
#include "formats/json/json.h"
#include "objectives/base/kinds.h"
#include "objectives/base/trainee.h"
#include "tensor_checks.h"
#include "test_data.h"
#include "training/evaluate.h"
#include "training/step.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

struct Golden {
  std::filesystem::path folder = test_data() / "conversations";
  Json results = read_json(folder / "goldens.json");
  ModelDirectory directory{(folder / "model").string()};
  ModelSpec spec = find_family(directory.config()).spec(directory.config(), "LlamaForCausalLM");
  TokenizerPair tokenizers = TokenizerPair::from_file(folder / "model");
  std::vector<std::string> files;
  Recipe recipe;

  Setting setting() const { return {recipe, directory, spec, tokenizers, files, false, {}}; }
  Trainee trainee(const ObjectiveKind& kind) const {
    Trainee trainee(PretrainedModel::load(directory, Purpose::training));
    if (kind.join != nullptr) kind.join(trainee, setting());
    return trainee;
  }
  Batch batch(const Objective& objective) const {
    return objective.collate(std::vector<std::int64_t>{0, 1}, {});
  }

  // A step with both examples: its loss, and the norm of its gradient.
  void expect_step(const ObjectiveKind& kind, const Json& wanted) const {
    const std::unique_ptr<Objective> objective = kind.make(setting());
    Trainee trainee = this->trainee(kind);
    const std::vector<Batch> batches = {batch(*objective)};
    Pass pass = Pass::training(1);
    const StepGradients made = add_gradients(trainee, *objective, batches, pass, {});
    EXPECT_NEAR(made.loss, wanted["loss"].get<double>(), 5e-6 * (1 + made.loss));
    double squares = 0;
    for (const Tensor& weight : trainee.weights())
      if (weight.gradient().defined())
        squares += (weight.gradient() * weight.gradient()).sum().item<double>();
    const double norm = std::sqrt(squares) * made.scale;
    EXPECT_NEAR(norm, wanted["gradient_norm"].get<double>(), 1e-5 * (1 + norm));
  }
};

TEST(Trl, LearnsTheSameTokens) {
  Golden golden;
  golden.files = {(golden.folder / "talk.jsonl").string()};
  const Batch batch = golden.batch(*kChat.make(golden.setting()));
  for (std::int64_t b = 0; b < 2; ++b) {
    const Json& wanted = golden.results["tokens"][static_cast<std::size_t>(b)];
    const auto ids = wanted["ids"].get<std::vector<std::int64_t>>();
    const auto learned = wanted["learned"].get<std::vector<int>>();
    std::vector<std::int64_t> labels(ids.size(), kIgnoredLabel);
    for (std::size_t t = 1; t < ids.size(); ++t)
      if (learned[t] == 1) labels[t - 1] = ids[t];
    EXPECT_TRUE(ops::equal(batch.tokens.offsets.part(batch.tokens.ids, b), ops::tensor(ids, kLong))) << b;
    EXPECT_TRUE(ops::equal(batch.tokens.offsets.part(batch.token_labels, b), ops::tensor(labels, kLong)))
        << b;
  }
}

TEST(Trl, TakesTheSameStepOfAConversation) {
  Golden golden;
  golden.files = {(golden.folder / "talk.jsonl").string()};
  golden.expect_step(kChat, golden.results["chat"]);
}

TEST(Trl, TakesTheSameStepOfPreferences) {
  Golden golden;
  golden.files = {(golden.folder / "better.jsonl").string()};
  golden.recipe.loss.beta = 0.3;
  golden.recipe.reference = golden.folder / "reference";
  for (const char* type : {"sigmoid", "robust", "hinge", "ipo"}) {
    golden.recipe.loss.loss_type = type;
    golden.recipe.loss.label_smoothing = golden.recipe.loss.loss_type == "robust" ? 0.2 : 0;
    const Json& wanted = golden.results[type];
    golden.expect_step(kPreferences, wanted);
    Trainee trainee = golden.trainee(kPreferences);
    std::size_t compared = 0;
    for (const Score& score : evaluate(trainee, *kPreferences.make(golden.setting()), {1000, 2})) {
      if (!wanted.contains(score.name)) continue;
      ++compared;
      EXPECT_NEAR(score.value, wanted[score.name].get<double>(), 5e-6 * (1 + std::abs(score.value)))
          << type << " " << score.name;
    }
    EXPECT_EQ(compared, 7U) << type;
  }
}

}  // namespace
}  // namespace attend
