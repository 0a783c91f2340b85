// From a recipe to a model directory: which heads are kept, and the messages before, during and after a run.
#include <attend/training.h>

#include "base/file.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/families/head.h"
#include "models/weights/tensors.h"
#include "objectives/word_setting.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

const Strings kOwn = {"good", "bad", "mixed"};  // not in alphabetical order

class TrainTest : public testing::Test {
 protected:
  // A model of letters with the head, trained with these labels.
  fs::path model_with(const std::string& name, Head head, const std::optional<Labels>& labels) {
    const fs::path base = write_letter_model(directory_, name + "-base", "bert");
    const fs::path path = directory_.path() / name;
    PretrainedModel::load(ModelDirectory(base), {.purpose = Purpose::training,
                                                 .architecture = architecture_for(find_family("bert"), head),
                                                 .fresh = FreshHead{7, labels}})
        .save(path);
    directory_.file(name + "/tokenizer.json", letter_tokenizer().dump());
    return path;
  }
  // One step that is too small to have a visible effect.
  Recipe recipe(const std::string& objective, const fs::path& model, const std::string& file,
                std::string_view rows) {
    Recipe r;
    r.objective = objective;
    r.model = model;
    r.train = {directory_.file(file, rows).string()};
    r.output = directory_.path() / fmt::format("output-{}", ++outputs_);
    r.duration.steps = 1;
    r.optimizer.name = "sgd";
    r.optimizer.learning_rate = 1e-12;
    r.schedule.name = "constant";
    r.schedule.warmup = 0;
    return r;
  }
  static std::string run(const Recipe& r) {
    testing::internal::CaptureStderr();
    std::string error;
    try {
      train(r);
    } catch (const Error& thrown) {
      error = thrown.what();
    }
    return testing::internal::GetCapturedStderr() + error;
  }
  static Strings labels_of(const fs::path& path) { return read_labels(ModelDirectory(path).config()); }
  static Tensor head_of(const fs::path& path, const char* name = "classifier.weight") {
    return read_tensors(path / "model.safetensors").at(name);
  }
  void expect_kept(const Recipe& r, const Strings& labels = kOwn) {
    const std::string said = run(r);
    EXPECT_TRUE(contains(said, "its head goes on learning")) << said;
    EXPECT_EQ(labels_of(r.output), labels);
    EXPECT_TRUE(ops::allclose(head_of(r.output), head_of(r.model.directory), 0, 1e-7)) << r.objective;
  }
  void expect_new(const Recipe& r, const Strings& labels, const char* why) {
    const std::string said = run(r);
    EXPECT_TRUE(contains(said, why)) << said;
    EXPECT_EQ(labels_of(r.output), labels);
    const Tensor now = head_of(r.output), before = head_of(r.model.directory);
    EXPECT_FALSE(now.sizes() == before.sizes() && ops::allclose(now, before, 0, 1e-7)) << r.objective;
  }

  TemporaryDirectory directory_;
  int outputs_ = 0;
};

TEST_F(TrainTest, AClassifierThatKnowsTheLabelsKeepsItsHead) {
  const fs::path model = model_with("model", Head::sequence_classification, Labels{kOwn, {}});
  const auto rows = [&](const char* text) { return recipe("classification", model, "rows.tsv", text); };
  expect_kept(rows("a b\tgood\nc\tbad\nd e\tmixed\n"));
  expect_kept(rows("a b\tmixed\nc\tbad\n"));
  expect_kept(rows("a b\tbad\nc\tbad\n"));
  expect_kept(rows("a b\t0\nc\t2\n"));  // ids
  expect_new(rows("a b\tgood\nc\tneutral\n"), {"good", "neutral"},
             "whose labels are good, bad, mixed: they lack neutral, which the data has");
  expect_new(rows("a b\t0\nc\t1\n"), {"0", "1"}, "they lack 0, 1");
  Recipe forced = rows("a b\tgood\nc\tbad\nd e\tmixed\n");
  forced.fresh_head = true;
  expect_new(forced, {"bad", "good", "mixed"}, "the head of BertForSequenceClassification is new");
  EXPECT_TRUE(contains(run(rows("a b\tneutral\nc\tneutral\n")),
                       "expected two labels at least, found only \"neutral\", which is none of the model's: "
                       "good, bad, mixed"));
}

// The ids of labels are the model's: it is trained with "mixed", its last, and predicts it.
TEST_F(TrainTest, TheDatasLabelsAreTheModelsIds) {
  const fs::path model = model_with("model", Head::sequence_classification, Labels{kOwn, {}});
  Recipe r = recipe("classification", model, "rows.tsv", "a b\tmixed\nc d\tmixed\ne f\tmixed\n");
  r.optimizer.name = "adamw";
  r.optimizer.learning_rate = 1e-3;
  r.duration.steps = 20;
  run(r);
  Recipe measured;
  measured.objective = "classification";
  measured.model = r.output;
  measured.train = {directory_.file("mixed.tsv", "g\tmixed\nh i\tmixed\n").string()};
  for (const auto& [name, value] : evaluate(measured)) {
    if (name != "accuracy") continue;
    EXPECT_EQ(value, 1);
  }
}

TEST_F(TrainTest, LabelsWithoutNamesGetTheDatas) {
  const fs::path model =
      model_with("model", Head::sequence_classification, Labels{{"LABEL_0", "LABEL_1"}, {}});
  expect_kept(recipe("classification", model, "rows.tsv", "a b\tyes\nc\tno\n"), {"no", "yes"});
  expect_kept(recipe("classification", model, "rows.tsv", "a b\t0\nc\t0\n"), {"LABEL_0", "LABEL_1"});
  expect_new(recipe("classification", model, "rows.tsv", "a b\tyes\nc\tno\nd\tperhaps\n"),
             {"no", "perhaps", "yes"}, "whose labels are LABEL_0, LABEL_1: they lack no, perhaps, yes");
}

TEST_F(TrainTest, HeadsForTagsSeveralLabelsAndNumbers) {
  const Strings tags = {"O", "B-LOC", "I-LOC", "B-PER"};
  const fs::path tagger = model_with("tagger", Head::token_classification, Labels{tags, {}});
  expect_kept(recipe("token-classification", tagger, "tags.txt", "a\tB-LOC\nb\tO\n\nc\tI-LOC\n"), tags);
  expect_new(recipe("token-classification", tagger, "tags.txt", "a\tB-ORG\nb\tO\n"), {"B-ORG", "O"},
             "they lack B-ORG");

  const fs::path several =
      model_with("several", Head::sequence_classification, Labels{kOwn, ProblemType::multi_label});
  const auto lists = [&](const char* rows) { return recipe("multi-label", several, "rows.jsonl", rows); };
  expect_kept(lists("{\"text\": \"a\", \"labels\": [\"mixed\"]}\n{\"text\": \"b\", \"labels\": []}\n"));
  expect_kept(lists("{\"text\": \"a\", \"labels\": [0, 1, 1]}\n{\"text\": \"b\", \"labels\": [0, 0, 1]}\n"));
  expect_new(lists("{\"text\": \"a\", \"labels\": [\"sad\", \"bad\"]}\n"), {"bad", "sad"}, "they lack sad");

  const fs::path scorer = model_with("scorer", Head::sequence_classification,
                                     Labels{{"length", "ease"}, ProblemType::regression});
  const auto numbers = [&](const char* rows) { return recipe("regression", scorer, "rows.jsonl", rows); };
  expect_kept(numbers("{\"text\": \"a\", \"score\": [1.5, 2]}\n"), {"length", "ease"});
  expect_new(numbers("{\"text\": \"a\", \"score\": 1.5}\n"), {"0"}, "the data has 1 numbers to a text");
  // A classifier is not a regression model, and vice versa.
  expect_new(recipe("regression", several, "rows.jsonl", "{\"text\": \"a\", \"score\": [1.5, 2, 3]}\n"),
             {"0", "1", "2"}, "which has 3 labels, and the data has 3 numbers to a text");
  expect_new(recipe("classification", scorer, "rows.tsv", "a\tlength\nb\tease\n"), {"ease", "length"},
             "a new head replaces the trained one");
}

// Heads without the data's labels are kept whole.
TEST_F(TrainTest, OtherHeadsGoOnLearning) {
  struct Case {
    const char *objective, *file, *rows;
    Head head;
  };
  for (const Case& c :
       {Case{"masked-lm", "a.txt", "a b c d e f\ng h i j\n", Head::masked_language_model},
        Case{"next-sentence", "b.txt", "a b c d\ne f g\nh i j\n\nk l m\nn o p\na c e\n", Head::pretraining},
        Case{"multiple-choice", "c.jsonl", R"({"question": "a", "choices": ["b", "c"], "label": 1})",
             Head::multiple_choice},
        Case{"question-answering", "d.jsonl",
             R"({"question": "a", "context": "b c", "answers": {"text": ["c"], "answer_start": [2]}})",
             Head::question_answering}}) {
    SCOPED_TRACE(c.objective);
    const fs::path model = model_with(c.objective, c.head, {});
    Recipe r = recipe(c.objective, model, c.file, c.rows);
    if (fs::path(c.file).extension() == ".txt") r.noise.mask_rate = 0.9;  // of few tokens
    const std::string said = run(r);
    EXPECT_FALSE(contains(said, "is new")) << said;
    const auto before = read_tensors(model / "model.safetensors"),
               after = read_tensors(r.output / "model.safetensors");
    ASSERT_EQ(before.size(), after.size());
    for (const auto& [name, tensor] : before)
      EXPECT_TRUE(ops::allclose(tensor, after.at(name), 0, 1e-7)) << name;
    r.output += "-new";
    r.fresh_head = true;
    EXPECT_TRUE(contains(run(r), "is new"));
  }
}

TEST_F(TrainTest, AnAdapterKeepsTheLabelsOfItsClassifier) {
  const fs::path model = model_with("model", Head::sequence_classification, Labels{kOwn, {}});
  Recipe r = recipe("classification", model, "rows.tsv", "a b\tmixed\nc\tbad\n");
  r.adapter.lora = 2;
  const std::string said = run(r);
  EXPECT_TRUE(contains(said, "its head goes on learning")) << said;
  const Json config = read_json(r.output / "config.json"), base = read_json(model / "config.json");
  EXPECT_EQ(config.at("id2label"), base.at("id2label"));
  EXPECT_EQ(config.at("label2id"), base.at("label2id"));
  const auto tensors = read_tensors(r.output / "adapter_model.safetensors");
  EXPECT_TRUE(ops::allclose(tensors.at("base_model.model.classifier.weight"), head_of(model), 0, 1e-7));
}

TEST_F(TrainTest, AnUnknownLabelIsNamedWithFileAndLine) {
  const fs::path model = write_letter_model(directory_, "model", "bert");
  const std::string rows = "a b\tgood\nc\tbad\n";
  Recipe r = recipe("classification", model, "train.tsv", rows);
  r.validation = {directory_.file("held-out.tsv", rows + "d\tneutral\n").string()};
  std::string said = run(r);
  EXPECT_TRUE(contains(
      said, "held-out.tsv, line 3: the label \"neutral\" is none of the model's, which are bad, good"))
      << said;
  Recipe tags = recipe("token-classification", model, "train.txt", "a\tX\nb\tY\n");
  tags.validation = {directory_.file("held-out.txt", "a\tX\n\nb\tY\nc\tZ\n").string()};
  said = run(tags);
  EXPECT_TRUE(
      contains(said, "held-out.txt, line 3, in the sentence that begins there, \"c\": the label \"Z\""))
      << said;
}

TEST_F(TrainTest, AnUnmeasuredMetricIsRefusedBeforeTheRun) {
  const fs::path model = write_letter_model(directory_, "model", "bert");
  Recipe r = recipe("classification", model, "rows.tsv", "a b\tgood\nc\tbad\n");
  r.validation = r.train;
  r.checkpoints.best = "f2";
  const std::string said = run(r);
  EXPECT_TRUE(contains(said,
                       "`best` f2: expected one of the figures of classification: loss, accuracy, f1, "
                       "precision, recall, macro_f1, matthews"))
      << said;
  EXPECT_FALSE(fs::exists(r.output / "metrics.jsonl"));
  EXPECT_FALSE(fs::exists(r.output / "config.json"));
}

TEST_F(TrainTest, EarlyStoppingSaysSoAndWhichStepStays) {
  const fs::path model = write_letter_model(directory_, "model", "bert");
  Recipe r = recipe("classification", model, "rows.tsv", "a b\tgood\nc\tbad\n");
  r.validation = r.train;
  r.duration.steps = 0;
  r.checkpoints.patience = 2;
  r.schedule.name = "";
  r.schedule.warmup = {};
  r.checkpoints.best = "accuracy";
  const std::string said = run(r);
  EXPECT_TRUE(contains(said, "`patience` 2: 20 times through the data at most")) << said;
  EXPECT_TRUE(contains(said, "stopped early after step 3: 2 validations without a better accuracy")) << said;
  EXPECT_TRUE(contains(said, "the result is that of step 1, with a validation accuracy of")) << said;
  EXPECT_TRUE(contains(read_file(r.output / "run.html"), "stopped early after step 3"));
}

TEST_F(TrainTest, OptionsThatCannotBeAppliedAreReported) {
  const fs::path model = write_letter_model(directory_, "model", "bert", {{"max_position_embeddings", 16}});
  Recipe r = recipe("masked-lm", model, "text.txt", "a b c d e f\ng h i j\n");
  r.data.length = 500;
  r.noise.mask_rate = 0.9;  // of few tokens
  r.checkpoints.resume = true;
  const std::string said = run(r);
  EXPECT_TRUE(contains(said, "`length` 500: the model reads 16 tokens at most, and so the length is 16"))
      << said;
  EXPECT_TRUE(contains(said, "`resume`: there is no run in")) << said;
  EXPECT_TRUE(fs::exists(r.output / "model.safetensors"));
}

}  // namespace
}  // namespace attend
