#include "objectives/distillation.h"

#include "nn/losses/distillation.h"
#include "objectives/base/kinds.h"
#include "objectives/classification.h"
#include "objectives/masked_language_model.h"
#include "objectives/word_setting.h"
#include "tensor_checks.h"
#include "training/evaluate.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::string_view kDocuments = "a b c d e f\ng h i j k\n\nl m n o p q r s t\na c e g\n";

struct StudentSetting : WordSetting {
  StudentSetting(const ObjectiveKind& kind, std::string_view rows, const Json& teacher = {})
      : WordSetting("bert", kind.head, {{"hidden_size", 32}, {"num_hidden_layers", 1}}), kind(kind) {
    Json changes = {{"hidden_size", 32}, {"num_hidden_layers", 2}};
    changes["architectures"] = {architecture_for(find_family("bert"), kind.head)};
    for (const auto& [field, value] : teacher.items()) changes[field] = value;
    recipe.teacher = write_letter_model(directory, "teacher", "bert", changes);
    add_file("rows.tsv", rows);
  }
  PretrainedModel load() const { return load_teacher(setting(), kind); }
  Distillation make() const { return {recipe, kind, kind.make(setting()), Trainee(load())}; }
  Trainee student() const {
    return Trainee(
        PretrainedModel::load(*model, {.purpose = Purpose::training,
                                       .architecture = architecture_for(find_family("bert"), kind.head),
                                       .dropout = {.all = 0.0, .attention = 0.0, .activation = 0.0},
                                       .fresh = FreshHead{1, kind.make(setting())->labels()}}));
  }
  const ObjectiveKind& kind;
};

std::vector<double> sums_of(const Losses& losses) {
  std::vector<double> sums;
  for (const Tensor& sum : losses.sums) sums.push_back(sum.item<double>());
  return sums;
}

TEST(Distillation, TheTermsAreWeighedAsTheRecipeSays) {
  StudentSetting setting(kMaskedLanguageModel, kDocuments);
  setting.recipe.soft_weight = 3;
  setting.recipe.hard_weight = 0.25;
  std::map<std::string, double> weights;
  for (const Term& term : setting.make().terms()) weights[term.name] = term.weight;
  EXPECT_EQ(weights, (std::map<std::string, double>{{"labels", 0.25}, {"soft_targets", 3}}));
  setting.recipe.hidden_weight = 2;
  EXPECT_EQ(setting.make().terms().back().name, "hidden_states");
  setting.recipe.soft_weight = setting.recipe.hidden_weight = 0;
  EXPECT_TRUE(contains(error_of([&] { setting.make(); }), "`soft_weight`"));
}

// A network agrees with itself: the loss has no gradient.
TEST(Distillation, ATeacherHasNothingToTellItself) {
  StudentSetting setting(kMaskedLanguageModel, kDocuments);
  setting.recipe.hidden_weight = 1;
  setting.recipe.teacher = setting.model->path();
  const Distillation objective = setting.make();
  const Batch batch = objective.collate(std::vector<std::int64_t>{0, 1}, {1, 1});
  ASSERT_EQ(batch.counts.size(), 3u);
  EXPECT_EQ(batch.counts[0], batch.counts[1]) << "hidden words";
  EXPECT_EQ(batch.counts[2], batch.tokens.offsets.total());
  Trainee student = setting.student();
  Pass pass = Pass::inference();
  const std::vector<double> sums = sums_of(objective.losses(student, batch, pass, {}));
  EXPECT_GT(sums[0], 1);
  EXPECT_NEAR(sums[1], 0, 1e-5);
  EXPECT_NEAR(sums[2], 0, 1e-4);
}

TEST(Distillation, TheVocabularyIsLearnedWhereAWordIsHidden) {
  StudentSetting setting(kMaskedLanguageModel, kDocuments);
  setting.recipe.mask_rate = 0.4;
  setting.recipe.temperature = 3;
  const Distillation objective = setting.make();
  const Batch batch = objective.collate(std::vector<std::int64_t>{0, 1}, {1, 1});
  Trainee student = setting.student();
  Pass pass = Pass::inference();
  const Losses made = objective.losses(student, batch, pass, {});
  const Tensor rows = batch.token_labels.ne(kIgnoredLabel).nonzero().squeeze(1);
  const auto scores = [&](const PretrainedModel& model) {
    Transformer network = model.network();
    Pass reading = Pass::inference();
    return network->language_model_head(network->encode(batch.tokens, reading), reading)
        .index_select(0, rows);
  };
  const Tensor expected = soft_cross_entropy(scores(student.model()), scores(setting.load()), 3).sum;
  EXPECT_NEAR(made.sums[1].item<double>(), expected.item<double>(), 1e-4 * expected.item<double>());
  made.sums[1].backward();
  EXPECT_GT(student.network()->encoder->embeddings->tokens.gradient().abs().sum().item<double>(), 0);
  for (const Tensor& weight : setting.load().network()->parameters()) EXPECT_FALSE(weight.needs_gradient());
}

TEST(Distillation, LabelsAreTheTeachers) {
  const Json labels = {{"id2label", {{"0", "y"}, {"1", "x"}}}, {"label2id", {{"y", 0}, {"x", 1}}}};
  StudentSetting setting(kClassification, "a b\tx\nc d\ty\n", labels);
  const PretrainedModel teacher = setting.load();
  const std::optional<Labels> taught = taught_labels(teacher);
  ASSERT_TRUE(taught);
  EXPECT_EQ(taught->names, (std::vector<std::string>{"y", "x"}));
  Setting with_labels = setting.setting();
  with_labels.labels = taught;
  const Classification objective(with_labels, ProblemType::single_label);
  EXPECT_TRUE(
      ops::equal(objective.collate(std::vector<std::int64_t>{0, 1}, {}).labels, ops::tensor({1, 0}, kLong)));
  EXPECT_EQ(objective.labels()->problem, ProblemType::single_label);
}

// Stored scores give the same result as the teacher.
TEST(Distillation, StoredScoresTeachAsTheirModelDoes) {
  const Json labels = {{"id2label", {{"0", "y"}, {"1", "x"}}}, {"label2id", {{"y", 0}, {"x", 1}}}};
  StudentSetting setting(kClassification, "a b\tx\nc d\ty\ne f g\tx\n", labels);
  const std::unique_ptr<Objective> by_model = distil(kClassification, setting.setting());
  Trainee teacher(setting.load());
  ScoreCollector collector(*by_model);
  evaluate(teacher, *kClassification.make(setting.setting()), {100, 2},
           [&](const Batch& batch, const Tensor& scores) { collector.add(batch, scores); });
  const std::filesystem::path file = setting.directory.path() / "scores.safetensors";
  StoredScores{*taught_labels(teacher.model()), collector.scores()}.write(file);

  setting.recipe.teacher = file;
  const std::unique_ptr<Objective> by_scores = distil(kClassification, setting.setting());
  EXPECT_EQ(by_scores->labels()->names, (std::vector<std::string>{"y", "x"}));
  Trainee student = setting.student();
  const std::vector<std::int64_t> examples{2, 0};
  const auto sums = [&](const Objective& objective) {
    Batch batch = objective.collate(examples, {});
    batch.examples = examples;
    Pass pass = Pass::inference();
    return sums_of(objective.losses(student, batch, pass, {}));
  };
  const std::vector<double> expected = sums(*by_model), found = sums(*by_scores);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[1], expected[1], 1e-5);

  setting.recipe.hidden_weight = 1;
  EXPECT_TRUE(contains(error_of([&] { distil(kClassification, setting.setting()); }), "expected a model"));
  setting.recipe.hidden_weight = 0;
  setting.add_file("more.tsv", "h i\tx\n");
  EXPECT_TRUE(contains(error_of([&] { distil(kClassification, setting.setting()); }),
                       "the 4 examples of the data, found 3"));
  setting.recipe.teacher = setting.directory.file("bad.safetensors", "no tensors");
  EXPECT_FALSE(error_of([&] { distil(kClassification, setting.setting()); }).empty());
}

TEST(Distillation, WhatDoesNotFitIsRefused) {
  StudentSetting three(kClassification, "a\tx\nb\ty\n", {{"num_labels", 3}});
  EXPECT_TRUE(contains(error_of([&] { three.make(); }), "expected the 2 labels of the data, found 3"));

  StudentSetting wide(kMaskedLanguageModel, kDocuments, {{"hidden_size", 64}});
  wide.make();
  wide.recipe.hidden_weight = 1;
  EXPECT_TRUE(contains(error_of([&] { wide.make(); }), "`hidden_weight`"));

  StudentSetting words(kMaskedLanguageModel, kDocuments);
  Json tokenizer = letter_tokenizer();
  tokenizer["model"]["vocab"]["a"] = kFirstLetter + 1;
  tokenizer["model"]["vocab"]["b"] = kFirstLetter;
  words.directory.file("teacher/tokenizer.json", tokenizer.dump());
  EXPECT_TRUE(contains(error_of([&] { words.make(); }), "expected the model's tokens, found \"b\""));

  EXPECT_TRUE(contains(error_of([&] { load_teacher(words.setting(), kPairs); }), "`teacher`: pairs"));
}

// A DistilBERT has no token types, but its teacher needs to know which text is the second.
TEST(Distillation, TextsHaveTheTypesThatTheTeacherTakes) {
  WordSetting setting("distilbert", Head::sequence_classification);
  setting.add_file("rows.tsv", "a b\tc\tx\nd\te f\ty\n");
  const Json config = {{"architectures", {"BertForSequenceClassification"}}};
  setting.recipe.teacher = write_letter_model(setting.directory, "teacher", "bert", config);
  const std::unique_ptr<Objective> objective = distil(kClassification, setting.setting());
  const Batch batch = objective->collate(std::vector<std::int64_t>{0}, {});
  EXPECT_TRUE(ops::equal(batch.tokens.types, ops::tensor({0, 0, 0, 0, 1, 1}, kLong))) << batch.tokens.types;
  EXPECT_FALSE(kClassification.make(setting.setting())
                   ->collate(std::vector<std::int64_t>{0}, {})
                   .tokens.types.defined());
}

}  // namespace
}  // namespace attend
