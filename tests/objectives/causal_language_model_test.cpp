#include "objectives/causal_language_model.h"

#include "models/weights/tensors.h"
#include "objectives/base/kinds.h"
#include "objectives/shared/text_streams.h"
#include "objectives/small_setting.h"
#include "tensor_checks.h"
#include "training/trainer.h"

#include <algorithm>
#include <numeric>

namespace attend {
namespace {

Json transformer_xl(std::int64_t memory, double dropout) {
  return {{"model_type", "transfo-xl"},
          {"architectures", {"TransfoXLLMHeadModel"}},
          {"cutoffs", Json::array()},
          {"d_model", 16},
          {"d_embed", 16},
          {"n_head", 2},
          {"d_head", 8},
          {"d_inner", 32},
          {"div_val", 1},
          {"n_layer", 2},
          {"mem_len", memory},
          {"clamp_len", 100},
          {"same_length", true},
          {"dropout", dropout},
          {"dropatt", dropout},
          {"init_std", 0.3},
          {"eos_token_id", 0}};
}

SmallSetting xl(std::int64_t memory, double dropout = 0) {
  SmallSetting setting(transformer_xl(memory, dropout), {"<unk>"}, {}, {});
  setting.write("train.txt", 1000, 9, 1000);
  return setting;
}

std::unique_ptr<Objective> make(SmallSetting& setting, std::int64_t length) {
  setting.recipe.length = length;
  return kCausalLanguageModel.make(setting.setting());
}

TEST(TextStreams, EachBatchContinuesThePreviousOne) {
  for (const std::int64_t blocks : {1, 7, 12, 23})
    for (const std::int64_t streams : {0, 1, 3, 5, 40})
      for (const bool all : {false, true}) {
        const auto batches = stream_batches(blocks, streams, all);
        const std::int64_t rows = std::clamp<std::int64_t>(streams, 1, blocks);
        std::vector<std::int64_t> seen;
        for (std::size_t t = 0; t < batches.size(); ++t) {
          seen.insert(seen.end(), batches[t].begin(), batches[t].end());
          EXPECT_EQ(batches[t].front(), t) << "the first stream begins with block 0";
          if (t == 0) {
            EXPECT_EQ(batches[t].size(), rows);
          }
          for (std::size_t b = 0; t > 0 && b < batches[t].size(); ++b)
            EXPECT_EQ(batches[t][b], batches[t - 1].at(b) + 1);
        }
        std::sort(seen.begin(), seen.end());
        EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
        EXPECT_EQ(seen.size(), all ? blocks : blocks - blocks % rows);
        if (!all) {
          EXPECT_EQ(batches.back().size(), rows);
        }
      }
}

TEST(CausalLanguageModel, ReadsRunningText) {
  SmallSetting setting = xl(8);
  std::unique_ptr<Objective> objective = make(setting, 10);
  const TokenRows text = tokenize_running_text(setting.tokenizer(), setting.setting().files);
  EXPECT_EQ(text.total(), 1000);
  EXPECT_EQ(objective->examples(), 99);
  const Batch batch = objective->collate(std::vector<std::int64_t>{0, 3}, {});
  EXPECT_EQ(ids_of(batch.tokens, 1), TokenIds(text.ids().begin() + 30, text.ids().begin() + 40));
  EXPECT_EQ(ids_of(batch.token_labels, batch.tokens.offsets, 1),
            TokenIds(text.ids().begin() + 31, text.ids().begin() + 41));
  EXPECT_FALSE(batch.continues);
  EXPECT_TRUE(objective->collate(std::vector<std::int64_t>{3}, {}).continues);
  EXPECT_TRUE(
      contains(error_of([&] { make(setting, 1000); }), "1000 tokens of text are too few for blocks of 1000"));
}

// With same_length each token sees as many keys as the memory holds, so a text in blocks gives the same as
// the whole text.
TEST(CausalLanguageModel, RemembersAsIfTheTextWereOne) {
  SmallSetting setting = xl(12);
  Trainee whole = setting.trainee(), parts = setting.trainee();
  const auto loss = [&](Trainee& trainee, std::int64_t length, std::int64_t blocks) {
    std::unique_ptr<Objective> objective = make(setting, length);
    double sum = 0;
    for (std::int64_t block = 0; block < blocks; ++block) {
      Pass pass = Pass::training(1);
      const Batch batch = objective->collate(std::vector<std::int64_t>{block}, {});
      sum += objective->losses(trainee, batch, pass, {}).sums[0].item<double>();
    }
    return sum;
  };
  const double expected = loss(whole, 60, 1);
  for (const std::int64_t length : {5, 12, 20}) {
    EXPECT_NEAR(loss(parts, length, 60 / length), expected, 1e-4 * expected) << length;
    ASSERT_EQ(parts.carried.size(), 2);
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor& memory = parts.carried.at(fmt::format("memory.{}", i));
      EXPECT_EQ(memory.sizes(), (std::vector<std::int64_t>{1, 12, 16}));
      EXPECT_FALSE(memory.needs_gradient());
      EXPECT_TRUE(ops::allclose(memory, whole.carried.at(fmt::format("memory.{}", i)), 1e-4, 1e-5));
    }
  }
  // Without memories, blocks predict differently.
  double forgetful = 0;
  std::unique_ptr<Objective> objective = make(setting, 5);
  for (std::int64_t block = 0; block < 12; ++block) {
    Pass pass = Pass::training(1);
    Batch batch = objective->collate(std::vector<std::int64_t>{block}, {});
    batch.continues = false;
    forgetful += objective->losses(parts, batch, pass, {}).sums[0].item<double>();
  }
  EXPECT_GT(std::abs(forgetful - expected), 1e-3 * expected);
}

TEST(CausalLanguageModel, ReportsMissingMemories) {
  SmallSetting setting = xl(12);
  std::unique_ptr<Objective> objective = make(setting, 10);
  Trainee trainee = setting.trainee();
  const auto read = [&](std::vector<std::int64_t> blocks) {
    Pass pass = Pass::inference();
    objective->losses(trainee, objective->collate(blocks, {}), pass, {});
  };
  EXPECT_TRUE(contains(error_of([&] { read({4}); }), "memory.0: expected what the batch before has left"));
  read({0, 10});
  read({1});
  EXPECT_TRUE(contains(error_of([&] { read({2, 12}); }), "resume with the `batch_tokens` and `batch_size`"));
}

TEST(CausalLanguageModel, AResumedRunRemembers) {
  SmallSetting setting = xl(12, 0.1);
  const auto run = [&](const std::string& name, std::int64_t steps, bool resume) {
    std::unique_ptr<Objective> objective = make(setting, 10), held_out = make(setting, 7);
    Trainee trainee = setting.trainee();
    TrainingOptions options;
    options.output = setting.directory().path() / name;
    options.steps = steps;
    options.batch = {.tokens = 80, .examples = 0};  // an epoch has 12 batches
    options.accumulate = 2;
    options.schedule = {ScheduleKind::constant, 0.01, 0, 0, 0};
    options.validate_every = 5;
    options.resume = resume;
    EXPECT_EQ(train(trainee, *objective, held_out.get(), options, {}), TrainingEnd::finished);
    return read_tensors(options.output / "checkpoints" / fmt::format("step-{}", steps) /
                        "carried.safetensors");
  };
  const auto whole = run("whole", 20, false);
  run("parts", 7, false);
  run("parts", 13, true);
  const auto parts = run("parts", 20, true);
  ASSERT_EQ(whole.size(), 2);
  for (const auto& [name, memory] : whole) EXPECT_TRUE(ops::equal(memory, parts.at(name))) << name;
  const auto one = read_tensors(setting.directory().path() / "whole/checkpoints/step-20/model.safetensors"),
             two = read_tensors(setting.directory().path() / "parts/checkpoints/step-20/model.safetensors");
  for (const auto& [name, tensor] : one) EXPECT_TRUE(ops::equal(tensor, two.at(name))) << name;
}

TEST(CausalLanguageModel, RefusesModelsThatReadBothWays) {
  SmallSetting xlm({{"model_type", "xlm"},
                    {"architectures", {"XLMWithLMHeadModel"}},
                    {"emb_dim", 16},
                    {"n_layers", 1},
                    {"n_heads", 2},
                    {"causal", false}},
                   {"<unk>", "<pad>", "<mask>"}, {}, {});
  xlm.write("train.txt", 100, 9, 9);
  EXPECT_TRUE(contains(error_of([&] { make(xlm, 10); }), "expected a model that reads from left to right"));
}

}  // namespace
}  // namespace attend
