#include "objectives/replaced_tokens.h"

#include <attend/training.h>

#include "models/weights/tensors.h"
#include "nn/transformer/shared_embeddings.h"
#include "objectives/base/kinds.h"
#include "tensor_checks.h"
#include "word_setting.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// ELECTRA's config writes embeddings of one width for both sizes.
const Json kSmall = {{"hidden_size", 32},    {"num_hidden_layers", 2},  {"num_attention_heads", 2},
                     {"embedding_size", 16}, {"intermediate_size", 40}, {"max_position_embeddings", 64}};

std::string text(std::int64_t documents) {
  Random random(5);
  std::string all;
  for (std::int64_t d = 0; d < documents; ++d) {
    for (std::uint64_t s = 2 + random.below(6); s > 0; --s) all += random_sentence(random, 6) + "\n";
    all += "\n";
  }
  return all;
}

TEST(ReplacedTokens, DrawsTokensByTheirProbability) {
  const Tensor odds = ops::tensor({0.5, 0.125, 0.0, 0.375});
  const Tensor scores = odds.log().repeat({20000, 1});
  const Tensor drawn = draw_tokens(scores, 9), counts = ops::one_hot(drawn, 4).to(kFloat).mean(0);
  EXPECT_LT((counts - odds).abs().max().item<double>(), 0.015);
  EXPECT_EQ(counts[2].item<double>(), 0) << "what has no probability is never drawn";
  EXPECT_TRUE(ops::equal(draw_tokens(scores, 9), drawn));
  EXPECT_FALSE(ops::equal(draw_tokens(scores, 10), drawn));
  EXPECT_TRUE(ops::equal(draw_tokens(scores.narrow(0, 500, 3), 9, 500), drawn.narrow(0, 500, 3)))
      << "by place";
}

TEST(ReplacedTokens, ATokenThatIsDrawnRightIsNotReplaced) {
  Batch batch;
  batch.tokens = TokenBatch::from({{kCls, 7, kMask, kSep}, {kCls, kMask, kSep}});
  const std::int64_t none = kIgnoredLabel;
  batch.token_labels =
      ops::tensor({none, std::int64_t{7}, std::int64_t{9}, none, none, std::int64_t{11}, none});
  const Replaced replaced =
      replace_tokens(batch, ops::tensor({std::int64_t{8}, std::int64_t{9}, std::int64_t{12}}));
  EXPECT_TRUE(ops::equal(replaced.tokens.ids, ops::tensor({kCls, std::int64_t{8}, std::int64_t{9}, kSep, kCls,
                                                           std::int64_t{12}, kSep})));
  EXPECT_TRUE(ops::equal(replaced.labels, ops::tensor({0.f, 1.f, 0.f, 0.f, 0.f, 1.f, 0.f})));
  EXPECT_EQ(batch.tokens.ids[2].item<std::int64_t>(), kMask) << "the batch stays as it was";
}

TEST(ReplacedTokens, HidesMoreBehindTheMaskThanBertAndAsksOfEveryToken) {
  WordSetting words("electra", Head::replaced_tokens, kSmall);
  words.add_file("text.txt", text(2000));
  const ReplacedTokens objective(words.setting());
  std::int64_t predicted = 0, masked = 0, same = 0, tokens = 0;
  for (std::int64_t example = 0; example < objective.examples(); ++example) {
    const Batch batch = objective.collate({&example, 1}, {1, 0});
    const Tensor hidden = batch.token_labels.ne(kIgnoredLabel);
    EXPECT_EQ(batch.counts,
              (std::vector<std::int64_t>{hidden.sum().item<std::int64_t>(), batch.tokens.ids.numel()}));
    predicted += batch.counts[0];
    masked += batch.tokens.ids.eq(kMask).sum().item<std::int64_t>();
    same += batch.tokens.ids.eq(batch.token_labels).sum().item<std::int64_t>();
    tokens += batch.counts[1] - 2;
  }
  EXPECT_NEAR(static_cast<double>(predicted) / static_cast<double>(tokens), 0.15, 0.01);
  EXPECT_NEAR(static_cast<double>(masked) / static_cast<double>(predicted), 0.85, 0.02);
  EXPECT_EQ(masked + same, predicted) << "the others stay";
}

PretrainedModel load(const std::filesystem::path& path, const std::string& architecture = {}) {
  return PretrainedModel::load(ModelDirectory(path),
                               {.purpose = Purpose::training, .architecture = architecture});
}

TEST(SharedEmbeddings, AreOneTensorOfBothModelsAndOfATiedHead) {
  const TemporaryDirectory directory;
  const PretrainedModel ours = load(write_letter_model(directory, "ours", "electra", kSmall));
  Json narrow = kSmall;
  narrow["hidden_size"] = 16;
  narrow["max_position_embeddings"] = 32;
  const std::filesystem::path path =
      write_letter_model(directory, "theirs", "electra", narrow, "tiny-generator");
  const PretrainedModel theirs = load(path);
  Transformer network = theirs.network();
  EXPECT_EQ(share_embeddings(ours.network(), network), (std::vector<std::string>{"tokens", "types"}))
      << "positions have other shapes";
  const Tensor& tokens = ours.network()->encoder->embeddings->tokens;
  EXPECT_TRUE(network->encoder->embeddings->tokens.is_same(tokens));
  EXPECT_TRUE(network->named_parameters()["encoder.embeddings.tokens"].is_same(tokens));
  // Changing one changes the other, also in the scores.
  Pass pass = Pass::inference();
  const TokenBatch batch = TokenBatch::from({{kCls, 7, 8, kSep}});
  const Tensor before = network->language_model_head(network->encode(batch, pass), pass).detach().clone();
  {
    const Unrecorded no_grad;
    ours.network()->encoder->embeddings->tokens[20].add_(1);
  }
  const Tensor after = network->language_model_head(network->encode(batch, pass), pass).detach();
  EXPECT_FALSE(ops::equal(before.select(1, 20), after.select(1, 20)));
  EXPECT_TRUE(ops::equal(before.select(1, 21), after.select(1, 21)));
  // It collects the gradients of both.
  network->language_model_head->loss(network->encode(batch, pass), batch.ids, {}, pass).sum.backward();
  EXPECT_TRUE(tokens.gradient().defined());
  theirs.save(directory.path() / "saved");
  const auto saved = read_tensors(directory.path() / "saved" / "model.safetensors");
  EXPECT_TRUE(ops::equal(saved.at("electra.embeddings.word_embeddings.weight"), tokens.detach()));
}

class ReplacedTokensRun : public testing::Test {
 protected:
  ReplacedTokensRun() {
    Json narrow = kSmall;
    narrow["hidden_size"] = 16;
    recipe_.objective = "replaced-tokens";
    recipe_.model = write_letter_model(directory_, "model", "electra", kSmall);
    recipe_.generator = write_letter_model(directory_, "generator", "electra", narrow, "tiny-generator");
    recipe_.train = recipe_.validation = {directory_.file("text.txt", text(30)).string()};
    recipe_.batch_tokens = 200;
    recipe_.steps = 12;
    recipe_.rate = 0.003;
    recipe_.warmup = 2;
    recipe_.validate_every = 6;
  }
  std::map<std::string, Tensor> weights(const std::filesystem::path& folder) const {
    return read_tensors(directory_.path() / folder / "model.safetensors");
  }
  static void expect_equal(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, tensor] : a) EXPECT_TRUE(ops::equal(tensor, b.at(name))) << name;
  }

  TemporaryDirectory directory_;
  Recipe recipe_;
};

TEST_F(ReplacedTokensRun, ResumedEndsAsIfItHadNeverStopped) {
  recipe_.output = directory_.path() / "whole";
  EXPECT_EQ(train(recipe_), TrainingEnd::finished);
  recipe_.output = directory_.path() / "parts";
  int steps = 0;
  EXPECT_EQ(train(recipe_, [&] { return ++steps == 5; }), TrainingEnd::interrupted);
  recipe_.resume = true;
  EXPECT_EQ(train(recipe_), TrainingEnd::finished);
  expect_equal(weights("whole"), weights("parts"));
  expect_equal(weights("whole/generator"), weights("parts/generator"));
  // Both have been trained, and their shared part is the same.
  EXPECT_FALSE(ops::equal(weights("whole").at("electra.encoder.layer.0.output.dense.weight"),
                          weights("model").at("electra.encoder.layer.0.output.dense.weight")));
  EXPECT_FALSE(ops::equal(weights("whole/generator").at("electra.encoder.layer.0.output.dense.weight"),
                          weights("generator").at("electra.encoder.layer.0.output.dense.weight")));
  for (const char* name : {"word", "position", "token_type"}) {
    const std::string full = "electra.embeddings." + std::string(name) + "_embeddings.weight";
    EXPECT_TRUE(ops::equal(weights("whole").at(full), weights("whole/generator").at(full))) << full;
  }
  EXPECT_EQ(load(directory_.path() / "whole" / "generator").architecture(), "ElectraForMaskedLM");
}

TEST_F(ReplacedTokensRun, AGeneratorThatDoesNotFitIsAnError) {
  recipe_.output = directory_.path() / "out";
  recipe_.generator.clear();
  EXPECT_TRUE(contains(error_of([&] { train(recipe_); }), "`generator`"));
  Json other = kSmall;
  other["vocab_size"] = kVocabulary + 1;
  recipe_.generator = write_letter_model(directory_, "larger", "electra", other, "tiny-generator");
  EXPECT_TRUE(contains(error_of([&] { train(recipe_); }), "vocabulary"));
  other = kSmall;
  other["max_position_embeddings"] = 8;
  recipe_.generator = write_letter_model(directory_, "shorter", "electra", other, "tiny-generator");
  EXPECT_TRUE(contains(error_of([&] { train(recipe_); }), "`max_length`"));
  recipe_.generator = write_letter_model(directory_, "bert", "bert");
  recipe_.model = recipe_.generator;
  EXPECT_TRUE(contains(error_of([&] { train(recipe_); }), "detects replaced tokens"));
}

}  // namespace
}  // namespace attend
