#include "training/trainer.h"

#include "base/file.h"
#include "expect_error.h"
#include "models/derived/companions.h"
#include "models/weights/tensors.h"
#include "objectives/masked_language_model.h"
#include "objectives/sequence_to_sequence.h"
#include "objectives/shared/token_ids.h"
#include "temporary_directory.h"
#include "tensor_checks.h"
#include "training/step.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

// Sequences that count upwards from a random start: easy to learn, with many lengths.
class Counting : public Objective {
 public:
  std::int64_t examples() const override { return 90; }
  std::int64_t tokens(std::int64_t example) const override { return 2 + example % 7; }
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override {
    std::vector<TokenIds> inputs;
    TokenIds labels;
    for (std::int64_t example : examples) {
      inputs.emplace_back();
      for (std::int64_t i = 0; i < tokens(example); ++i) {
        inputs.back().push_back((example + i) % 11);
        labels.push_back((example + i + 1) % 11);
      }
    }
    Batch batch;
    batch.tokens = TokenBatch::from(inputs);
    batch.token_labels = ops::tensor(labels, kLong);
    batch.counts = {batch.token_labels.numel()};
    return batch;
  }
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override {
    return {{predict_tokens(trainee, batch, pass, options).loss}};
  }
};

double mean_loss(const PretrainedModel& model, const Objective& objective) {
  Trainee trainee(model);
  return evaluate(trainee, objective, {100, 0}).front().value;
}

PretrainedModel tiny_model() {
  Json config = find_family("gpt2").fresh_config("character");
  const Json small = {{"vocab_size", 11},  {"n_embd", 24},       {"n_head", 3},       {"n_layer", 2},
                      {"n_positions", 16}, {"resid_pdrop", 0.1}, {"attn_pdrop", 0.1}, {"embd_pdrop", 0.1}};
  for (const auto& [field, value] : small.items()) config[field] = value;
  return PretrainedModel::fresh(Fields(config, "config.json"), 3);
}

class TrainerTest : public testing::Test {
 protected:
  TrainingOptions options(const std::string& name, std::int64_t steps) const {
    TrainingOptions o;
    o.output = root_ / name;
    o.duration.steps = steps;
    o.batch.tokens = 60;
    o.schedule = {ScheduleKind::inverse_sqrt, 0.01, 0, 5, steps};
    o.warmup = 5;
    o.checkpoints.validate_every = 10;
    o.checkpoints.average = 2;
    o.loss.label_smoothing = 0.1;
    o.max_grad_norm = 1;
    return o;
  }
  static void run(const TrainingOptions& o, const fs::path& companions = {}) {
    Trainee trainee(tiny_model());
    Counting objective;
    TrainingHooks hooks;
    if (!companions.empty())
      hooks.write_extra_files = [&](const fs::path& output) { copy_companions(companions, output); };
    EXPECT_EQ(train(trainee, objective, &objective, o, hooks), TrainingEnd::finished);
  }
  static void expect_equal_weights(const fs::path& a, const fs::path& b) {
    const auto one = read_tensors(a / "model.safetensors"), two = read_tensors(b / "model.safetensors");
    ASSERT_EQ(one.size(), two.size());
    for (const auto& [name, tensor] : one) EXPECT_TRUE(ops::equal(tensor, two.at(name))) << name;
  }

  const TemporaryDirectory temporary_;
  const fs::path root_ = temporary_.path() / "runs";
};

TEST_F(TrainerTest, LearnsToCount) {
  run(options("run", 120));
  PretrainedModel trained = PretrainedModel::load(ModelDirectory(root_ / "run"), Purpose::inference);
  const Counting objective;
  EXPECT_LT(mean_loss(trained, objective), 0.3) << "an untrained model has " << std::log(11.0);
  std::ifstream metrics(root_ / "run" / "metrics.jsonl");
  std::int64_t lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines)
    EXPECT_TRUE(Json::parse(line).contains("step"));
  EXPECT_EQ(lines, 12 + 12);
}

// The model stays unchanged; only the adapter is saved.
TEST_F(TrainerTest, AnAdapterLearnsAndAResumedOneEndsTheSame) {
  const auto adapt = [&](const std::string& name, std::int64_t steps, bool resume,
                         const AdapterOptions& adapter) {
    Trainee trainee(tiny_model());
    trainee.adapt(adapter, "CAUSAL_LM", 5);
    Counting objective;
    TrainingOptions o = options(name, steps);
    o.checkpoints.resume = resume;
    EXPECT_EQ(train(trainee, objective, &objective, o, {}), TrainingEnd::finished);
    return mean_loss(trainee.model(), objective);
  };
  const auto expect_same = [&](const AdapterOptions& adapter) {
    fs::remove_all(root_);
    EXPECT_LT(adapt("whole", 40, false, adapter), std::log(11.0) - 0.1);
    adapt("parts", 20, false, adapter);
    adapt("parts", 40, true, adapter);
    const auto one = read_tensors(root_ / "whole" / "adapter_model.safetensors"),
               two = read_tensors(root_ / "parts" / "adapter_model.safetensors");
    ASSERT_EQ(one.size(), two.size());
    for (const auto& [name, tensor] : one) EXPECT_TRUE(ops::equal(tensor, two.at(name))) << name;
    EXPECT_FALSE(fs::exists(root_ / "whole" / "model.safetensors"));
  };
  expect_same({.rank = 4, .dropout = 0.1, .targets = {"all-linear"}, .bias = "all"});
  expect_same({.rank = 2, .directions = true, .targets = {"c_attn", "wte"}, .modules_to_save = {"ln_f"}});
  expect_same({.rank = 4, .targets = {"c_attn", "c_fc"}, .initialization = "pissa"});
}

TEST_F(TrainerTest, AResumedRunEndsWithExactlyTheSameWeights) {
  run(options("whole", 40));
  // Killed after the checkpoint of step 20 (later results are lost), then resumed.
  run(options("parts", 20));
  // Killed while it wrote one checkpoint and removed another.
  const fs::path left[] = {root_ / "parts" / "checkpoints" / "step-23.unfinished",
                           root_ / "parts" / "checkpoints" / "step-7"};
  for (const fs::path& path : left) fs::create_directories(path);
  TrainingOptions rest = options("parts", 40);
  rest.checkpoints.resume = true;
  run(rest);
  expect_equal_weights(root_ / "whole", root_ / "parts");
  expect_equal_weights(root_ / "whole" / "checkpoints" / "step-40",
                       root_ / "parts" / "checkpoints" / "step-40");
  for (const fs::path& path : left) EXPECT_FALSE(fs::exists(path)) << path;
}

// With a factor so small that nothing is learned after the first validation without an improvement.
TEST_F(TrainerTest, TheRateFallsOnAPlateauAndAResumedRunKnowsIt) {
  const auto plateau = [&](const std::string& name, std::int64_t steps) {
    TrainingOptions o = options(name, steps);
    o.schedule.kind = ScheduleKind::plateau;
    o.schedule.peak = 10;  // far too high: validation gets worse
    o.plateau = {.by = 1e-12, .patience = 0};
    o.checkpoints.average = 1;
    return o;
  };
  run(plateau("whole", 60));
  run(plateau("parts", 40));
  TrainingOptions rest = plateau("parts", 60);
  rest.checkpoints.resume = true;
  run(rest);
  expect_equal_weights(root_ / "whole", root_ / "parts");
  std::ifstream metrics(root_ / "parts" / "metrics.jsonl");
  double last_rate = 0;
  for (std::string line; std::getline(metrics, line);)
    if (const Json values = Json::parse(line); values.contains("train/rate"))
      last_rate = values["train/rate"];
  EXPECT_LT(last_rate, 1e-9);
}

TEST_F(TrainerTest, LearnsToCountFromTwoReadings) {
  TrainingOptions o = options("run", 120);
  o.loss.r_drop = 5;
  run(o);
  PretrainedModel trained = PretrainedModel::load(ModelDirectory(root_ / "run"), Purpose::inference);
  EXPECT_LT(mean_loss(trained, Counting()), 0.3);
}

TEST_F(TrainerTest, LearnsToCountInBfloat16) {
  TrainingOptions o = options("run", 120);
  o.bfloat16 = true;
  run(o);
  PretrainedModel trained = PretrainedModel::load(ModelDirectory(root_ / "run"), Purpose::inference);
  EXPECT_LT(mean_loss(trained, Counting()), 0.3);
  o.output = root_ / "again";
  run(o);
  expect_equal_weights(root_ / "run", root_ / "again");
  o.output = root_ / "float32", o.bfloat16 = false;
  run(o);
  const auto one = read_tensors(root_ / "run" / "model.safetensors"),
             two = read_tensors(root_ / "float32" / "model.safetensors");
  EXPECT_EQ(ops::equal(one.begin()->second, two.at(one.begin()->first)), !Bfloat16Products::available());
}

TEST_F(TrainerTest, DoesNotOverwriteARunUnasked) {
  run(options("run", 10));
  const fs::path tokenizer = root_ / "other" / "tokenizer.json";
  fs::create_directories(tokenizer.parent_path());
  write_file_atomically(tokenizer, "{}");
  TrainingOptions again = options("run", 10);
  EXPECT_ERROR("a run has been here (step-10)", run(again, tokenizer.parent_path()));
  EXPECT_FALSE(fs::exists(root_ / "run" / "tokenizer.json")) << "another run's tokenizer";
  tiny_model().save(root_ / "model");
  EXPECT_ERROR("there already is a model in it", run(options("model", 10)));
  EXPECT_EQ(fs::exists(root_ / "model" / "checkpoints"), false);
}

TEST_F(TrainerTest, TheTokenizerGoesWithTheResult) {
  fs::create_directories(root_ / "base");
  write_file_atomically(root_ / "base" / "tokenizer.json", "{}");
  TrainingOptions o = options("run", 10);
  run(o, root_ / "base");
  EXPECT_EQ(read_file(root_ / "run" / "tokenizer.json"), "{}");
  // A resumed run keeps its original tokenizer.
  write_file_atomically(root_ / "base" / "tokenizer.json", "[]");
  o.duration.steps = 20;
  o.checkpoints.resume = true;
  run(o, root_ / "base");
  EXPECT_EQ(read_file(root_ / "run" / "tokenizer.json"), "{}");
}

// A head tied to the embeddings would change the vector of padding.
class Copying : public Counting {
 public:
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override {
    std::vector<TokenIds> texts;
    for (std::int64_t example : examples) texts.push_back({9, example % 9, 3});
    return make_pairs(texts, texts, 10);
  }
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override {
    return pair_losses(trainee, batch, pass, options);
  }
};

TEST_F(TrainerTest, AZeroVectorOfPaddingStaysZero) {
  Json config = find_family("marian").fresh_config("transformer-tiny");
  config["vocab_size"] = 11;
  config["pad_token_id"] = config["decoder_start_token_id"] = 10;
  PretrainedModel model = PretrainedModel::fresh(Fields(config, "config.json"), 1);
  const Tensor& tokens = model.network()->encoder->embeddings->tokens;
  const Tensor before = tokens.detach().clone();
  Copying objective;
  Trainee trainee(model);
  train(trainee, objective, nullptr, options("marian", 3));
  EXPECT_TRUE(tokens[10].eq(0).all().item<bool>());
  EXPECT_FALSE(ops::equal(tokens[9], before[9]));
}

TEST_F(TrainerTest, ADamagedOptimizerStateIsAnError) {
  run(options("run", 10));
  write_tensors(root_ / "run" / "checkpoints" / "step-10" / "optimizer.safetensors",
                {{"mean.x", ops::zeros({2})}});
  TrainingOptions o = options("run", 20);
  o.checkpoints.resume = true;
  EXPECT_ERROR("the checkpoint's optimizer state does not fit: mean.", run(o));
}

TEST_F(TrainerTest, TheAverageIsTheMeanOfTheCheckpoints) {
  run(options("run", 20));
  const fs::path checkpoints = root_ / "run" / "checkpoints";
  const auto a = read_tensors(checkpoints / "step-10" / "model.safetensors"),
             b = read_tensors(checkpoints / "step-20" / "model.safetensors"),
             mean = read_tensors(root_ / "run" / "model.safetensors");
  for (const auto& [name, tensor] : mean)
    EXPECT_TRUE(ops::allclose(tensor, (a.at(name) + b.at(name)) / 2, 1e-6, 1e-7)) << name;
}

// How examples are divided into batches does not matter: every term of the loss is divided by its labels in
// the whole step.
class TwoTerms : public Counting {
 public:
  std::vector<Term> terms() const override { return {{"first", 0.5}, {"all", 2}}; }
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override {
    Batch batch = Counting::collate(examples, draws);
    batch.labels = batch.token_labels.clone();
    for (std::int64_t b = 0; b < batch.tokens.offsets.count(); ++b)  // the first term has another count
      if (examples[static_cast<std::size_t>(b)] % 3 != 0)
        batch.tokens.offsets.part(batch.token_labels, b).fill_(kIgnoredLabel);
    batch.counts = {count_labels(batch.token_labels), batch.labels.numel()};
    return batch;
  }
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override {
    const TokenPredictions made = predict_tokens(trainee, batch, pass, options);
    return {{made.loss,
             trainee.network()->language_model_head->loss(made.hidden, batch.labels, options, pass).sum}};
  }
};

// The loss and the gradients of examples 0 to 30 in batches of `size`.
std::vector<Tensor> gradients_in_batches(std::int64_t size) {
  const TwoTerms objective;
  Trainee trainee(tiny_model());
  std::vector<Batch> batches;
  for (std::int64_t begin = 0; begin < 31; begin += size) {
    std::vector<std::int64_t> examples;
    for (std::int64_t i = begin; i < std::min<std::int64_t>(31, begin + size); ++i) examples.push_back(i);
    batches.push_back(objective.collate(examples, {}));
  }
  Pass pass = Pass::inference();
  const StepGradients step = add_gradients(trainee, objective, batches, pass, {});
  std::vector<Tensor> all{ops::scalar_tensor(step.loss, kDouble)};
  for (const auto& [name, weight] : trainee.parameters()) all.push_back(weight.gradient() * step.scale);
  return all;
}

TEST(Step, AccumulatesExactly) {
  const std::vector<Tensor> whole = gradients_in_batches(31);
  for (std::int64_t size : {1, 4, 7}) {
    const std::vector<Tensor> parts = gradients_in_batches(size);
    for (std::size_t i = 0; i < whole.size(); ++i)
      EXPECT_LE((whole[i] - parts[i]).abs().max().item<double>(), 1e-6) << size << ", tensor " << i;
  }
}

}  // namespace
}  // namespace attend
