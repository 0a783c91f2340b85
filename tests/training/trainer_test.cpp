#include "training/trainer.h"

#include "base/file.h"
#include "models/tensors.h"
#include "training/batches.h"
#include "training/random.h"

#include <cmath>
#include <fstream>
#include <numeric>

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

// Sequences that count upwards from a random start: easy to learn, of many lengths.
class Counting : public Objective {
 public:
  std::int64_t examples() const override { return 90; }
  std::int64_t tokens(std::int64_t example) const override { return 2 + example % 7; }
  LossSum loss(Transformer& model, std::span<const std::int64_t> examples, Pass& pass,
               const LossOptions& options) const override {
    std::vector<std::vector<std::int64_t>> inputs;
    std::vector<std::int64_t> labels;
    for (std::int64_t example : examples) {
      inputs.emplace_back();
      for (std::int64_t i = 0; i < tokens(example); ++i) {
        inputs.back().push_back((example + i) % 11);
        labels.push_back((example + i + 1) % 11);
      }
    }
    const Tensor hidden = model->decode(TokenBatch::from(inputs), pass);
    return model->language_model_head->loss(hidden, torch::tensor(labels, at::kLong), options);
  }
};

Model tiny_model() {
  Json config = find_family("gpt2").fresh_config("character");
  const Json small = {{"vocab_size", 11},  {"n_embd", 24},       {"n_head", 3},       {"n_layer", 2},
                      {"n_positions", 16}, {"resid_pdrop", 0.1}, {"attn_pdrop", 0.1}, {"embd_pdrop", 0.1}};
  for (const auto& [field, value] : small.items()) config[field] = value;
  return Model::fresh(Fields(config, "config.json"), 3);
}

class TrainerTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_); }
  void TearDown() override { fs::remove_all(root_); }

  TrainingOptions options(const std::string& name, std::int64_t steps) const {
    TrainingOptions o;
    o.output = root_ / name;
    o.steps = steps;
    o.batch_tokens = 60;
    o.schedule = {ScheduleKind::inverse_sqrt, 0.01, 0, 5, steps};
    o.validate_every = 10;
    o.average = 2;
    o.loss.label_smoothing = 0.1;
    o.adam.clip = 1;
    return o;
  }
  static void run(const TrainingOptions& o) {
    Model model = tiny_model();
    Counting objective;
    const Validate validate = [&](Model& m) {
      return std::vector<Score>{{"loss", mean_loss(m, objective, 100), false}};
    };
    EXPECT_EQ(train(model, objective, validate, o), TrainingEnd::finished);
  }
  static void expect_equal_weights(const fs::path& a, const fs::path& b) {
    const auto one = read_tensors(a / "model.safetensors"), two = read_tensors(b / "model.safetensors");
    ASSERT_EQ(one.size(), two.size());
    for (const auto& [name, tensor] : one) EXPECT_TRUE(at::equal(tensor, two.at(name))) << name;
  }

  fs::path root_ = fs::path(testing::TempDir()) / "attend-trainer-test";
};

TEST_F(TrainerTest, LearnsToCount) {
  run(options("run", 120));
  Model trained = Model::load(ModelDirectory(root_ / "run"), Purpose::inference);
  const Counting objective;
  EXPECT_LT(mean_loss(trained, objective, 100), 0.3) << "an untrained model has " << std::log(11.0);
  std::ifstream metrics(root_ / "run" / "metrics.jsonl");
  std::int64_t lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines)
    EXPECT_TRUE(Json::parse(line).contains("step"));
  EXPECT_EQ(lines, 12 + 12);
}

TEST_F(TrainerTest, AResumedRunEndsWithExactlyTheSameWeights) {
  run(options("whole", 40));
  // Killed after the checkpoint of step 20 (whatever came later is lost), then resumed.
  run(options("parts", 20));
  fs::create_directories(root_ / "parts" / "checkpoints" / "step-23.unfinished");
  TrainingOptions rest = options("parts", 40);
  rest.resume = true;
  run(rest);
  expect_equal_weights(root_ / "whole", root_ / "parts");
  expect_equal_weights(root_ / "whole" / "checkpoints" / "step-40",
                       root_ / "parts" / "checkpoints" / "step-40");
}

TEST_F(TrainerTest, LearnsToCountFromTwoReadings) {
  TrainingOptions o = options("run", 120);
  o.loss.r_drop = 5;
  run(o);
  Model trained = Model::load(ModelDirectory(root_ / "run"), Purpose::inference);
  EXPECT_LT(mean_loss(trained, Counting(), 100), 0.3);
}

TEST_F(TrainerTest, LearnsToCountInBfloat16) {
  TrainingOptions o = options("run", 120);
  o.bfloat16 = true;
  run(o);
  Model trained = Model::load(ModelDirectory(root_ / "run"), Purpose::inference);
  EXPECT_LT(mean_loss(trained, Counting(), 100), 0.3);
  o.output = root_ / "again";
  run(o);
  expect_equal_weights(root_ / "run", root_ / "again");
  o.output = root_ / "float32", o.bfloat16 = false;
  run(o);
  const auto one = read_tensors(root_ / "run" / "model.safetensors"),
             two = read_tensors(root_ / "float32" / "model.safetensors");
  EXPECT_EQ(at::equal(one.begin()->second, two.at(one.begin()->first)), !Bfloat16Products::available());
}

TEST_F(TrainerTest, DoesNotOverwriteARunUnasked) {
  run(options("run", 10));
  const fs::path tokenizer = root_ / "other" / "tokenizer.json";
  fs::create_directories(tokenizer.parent_path());
  write_file_atomically(tokenizer, "{}");
  TrainingOptions again = options("run", 10);
  again.tokenizer = tokenizer.parent_path();
  EXPECT_THROW(run(again), Error);
  EXPECT_FALSE(fs::exists(root_ / "run" / "tokenizer.json")) << "another run's tokenizer";
  tiny_model().save(root_ / "model");
  EXPECT_THROW(run(options("model", 10)), Error);
  EXPECT_EQ(fs::exists(root_ / "model" / "checkpoints"), false);
}

TEST_F(TrainerTest, TheTokenizerGoesWithTheResult) {
  fs::create_directories(root_ / "base");
  write_file_atomically(root_ / "base" / "tokenizer.json", "{}");
  TrainingOptions o = options("run", 10);
  o.tokenizer = root_ / "base";
  run(o);
  EXPECT_EQ(read_file(root_ / "run" / "tokenizer.json"), "{}");
  // A run that goes on keeps the tokenizer that it began with.
  write_file_atomically(root_ / "base" / "tokenizer.json", "[]");
  o.steps = 20;
  o.resume = true;
  run(o);
  EXPECT_EQ(read_file(root_ / "run" / "tokenizer.json"), "{}");
}

// A head tied to the embeddings would move the vector of padding.
class Copying : public Counting {
 public:
  LossSum loss(Transformer& model, std::span<const std::int64_t> examples, Pass& pass,
               const LossOptions& options) const override {
    std::vector<std::vector<std::int64_t>> texts;
    for (std::int64_t example : examples) texts.push_back({9, example % 9, 3});
    const TokenBatch batch = TokenBatch::from(texts);
    const Memory memory = model->remember(model->encode(batch, pass), batch.offsets);
    return model->language_model_head->loss(model->decode(batch, pass, &memory), batch.ids.roll(-1), options);
  }
};

TEST_F(TrainerTest, AZeroVectorOfPaddingStaysZero) {
  Json config = find_family("marian").fresh_config("transformer-tiny");
  config["vocab_size"] = 11;
  config["pad_token_id"] = config["decoder_start_token_id"] = 10;
  Model model = Model::fresh(Fields(config, "config.json"), 1);
  const Tensor& tokens = model.network()->encoder->embeddings->tokens;
  const Tensor before = tokens.detach().clone();
  Copying objective;
  train(model, objective, {}, options("marian", 3));
  EXPECT_TRUE(tokens[10].eq(0).all().item<bool>());
  EXPECT_FALSE(tokens[9].equal(before[9]));
}

TEST_F(TrainerTest, ADamagedOptimizerStateIsAnError) {
  run(options("run", 10));
  write_tensors(root_ / "run" / "checkpoints" / "step-10" / "optimizer.safetensors",
                {{"mean.x", at::zeros({2})}});
  TrainingOptions o = options("run", 20);
  o.resume = true;
  EXPECT_THROW(run(o), Error);
}

TEST_F(TrainerTest, TheAverageIsTheMeanOfTheCheckpoints) {
  run(options("run", 20));
  const fs::path checkpoints = root_ / "run" / "checkpoints";
  const auto a = read_tensors(checkpoints / "step-10" / "model.safetensors"),
             b = read_tensors(checkpoints / "step-20" / "model.safetensors"),
             mean = read_tensors(root_ / "run" / "model.safetensors");
  for (const auto& [name, tensor] : mean)
    EXPECT_TRUE(at::allclose(tensor, (a.at(name) + b.at(name)) / 2, 1e-6, 1e-7)) << name;
}

TEST(Batches, HoldEveryExampleOnceAndFewEnoughTokens) {
  const Counting objective;
  for (std::int64_t epoch : {0, 1}) {
    std::vector<std::int64_t> seen;
    for (const Batch& batch : make_batches(objective, 30, 5, epoch)) {
      std::int64_t tokens = 0;
      for (std::int64_t example : batch) tokens += objective.tokens(example);
      EXPECT_LE(tokens, 30);
      seen.insert(seen.end(), batch.begin(), batch.end());
    }
    std::sort(seen.begin(), seen.end());
    std::vector<std::int64_t> all(90);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(seen, all);
  }
  EXPECT_EQ(make_batches(objective, 30, 5, 0), make_batches(objective, 30, 5, 0));
  EXPECT_NE(make_batches(objective, 30, 5, 0), make_batches(objective, 30, 5, 1));
}

TEST(Schedule, FollowsThePaper) {
  const Schedule paper{ScheduleKind::inverse_sqrt, 1 / std::sqrt(512.0 * 4000), 0, 4000, 0};
  for (std::int64_t step : {1, 100, 3999, 4000, 4001, 100000}) {
    const double s = static_cast<double>(step);
    EXPECT_NEAR(paper.rate(step), std::pow(512, -0.5) * std::min(std::pow(s, -0.5), s * std::pow(4000, -1.5)),
                1e-12);
  }
  Schedule cooling = paper;
  cooling.total = 10000, cooling.cooldown = 1000;
  EXPECT_EQ(cooling.rate(9000), paper.rate(9000));
  EXPECT_DOUBLE_EQ(cooling.rate(9501), paper.rate(9501) / 2);
  EXPECT_DOUBLE_EQ(cooling.rate(10000), paper.rate(10000) / 1000);
  const Schedule cosine{ScheduleKind::cosine, 1, 0.1, 10, 110};
  EXPECT_DOUBLE_EQ(cosine.rate(5), 0.5);
  EXPECT_NEAR(cosine.rate(60), 0.55, 1e-12);
  EXPECT_NEAR(cosine.rate(110), 0.1, 1e-12);
}

}  // namespace
}  // namespace attend
