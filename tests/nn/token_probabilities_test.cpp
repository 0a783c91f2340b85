#include "nn/transformer/token_probabilities.h"

#include "expect_error.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/derived/fresh.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

PretrainedModel model_of(std::string_view family, Json changes = Json::object()) {
  Json config = find_family(family).fresh_config("tiny");
  config["vocab_size"] = 300;  // more than a block of rows has columns
  config.update(changes);
  return PretrainedModel::fresh(Fields(config, "config.json"), 5);
}

// From all scores at once, as in a textbook.
Tensor expected(const Transformer& network, const Tensor& hidden, const Tensor& labels, Pass& pass) {
  const Tensor scores = network->language_model_head(hidden, pass);
  return ops::log_softmax(scores, 1).gather(1, labels.unsqueeze(1)).squeeze(1);
}

void expect_the_same(const PretrainedModel& model) {
  Transformer network = model.network();
  for (const Tensor& weight : network->parameters()) weight.set_needs_gradient();
  ops::manual_seed(3);
  const std::int64_t width = network->decoder->spec().width(), rows = 150;
  const Tensor hidden = ops::randn({rows, width}, kFloat).set_needs_gradient(),
               factors = ops::randn({rows}, kFloat);
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < rows; ++i) tokens.push_back(i * 7 % 300);
  const Tensor labels = ops::tensor(tokens, kLong);
  Pass pass = Pass::training(1);
  const Tensor found = token_log_probabilities(network, hidden, labels, pass),
               wanted = expected(network, hidden, labels, pass);
  EXPECT_TRUE(ops::allclose(found, wanted, 1e-5, 1e-5));
  std::vector<Tensor> leaves = {hidden, network->decoder->embeddings->tokens};
  for (const auto& item : network->language_model_head->named_parameters(/*recurse=*/false))
    leaves.push_back(item.value());
  const auto gradients = [&](const Tensor& logs) {
    return ops::gradients({(logs * factors).sum()}, leaves, {}, {.may_be_unused = true});
  };
  const std::vector<Tensor> ours = gradients(found), theirs = gradients(wanted);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    ASSERT_EQ(ours[i].defined(), theirs[i].defined()) << i;
    if (ours[i].defined()) {
      EXPECT_TRUE(ops::allclose(ours[i], theirs[i], 1e-4, 2e-5)) << i;
    }
  }
}

TEST(TokenProbabilities, AreThoseOfTheWholeVocabulary) {
  expect_the_same(model_of("gpt2"));                                     // the embeddings are the matrix
  expect_the_same(model_of("llama", {{"tie_word_embeddings", false}}));  // a matrix of its own
}

TEST(TokenProbabilities, OfCappedScoresAreRightToo) {
  expect_the_same(model_of("gemma2"));
}

TEST(TokenProbabilities, WithoutGradientsAreTheSame) {
  const PretrainedModel model = model_of("gpt2");
  Transformer network = model.network();
  const Tensor hidden = ops::ones({4, network->decoder->spec().width()}, kFloat),
               labels = ops::tensor(std::vector<std::int64_t>{0, 1, 2, 299}, kLong);
  Pass pass = Pass::inference();
  const Tensor recorded = token_log_probabilities(network, hidden, labels, pass);
  pass.gradients = false;
  const Tensor found = token_log_probabilities(network, hidden, labels, pass);
  EXPECT_TRUE(ops::equal(found, recorded));
  EXPECT_FALSE(found.needs_gradient());
  EXPECT_TRUE(contains(error_of([&] {
                         token_log_probabilities(network, hidden,
                                                 ops::tensor(std::vector<std::int64_t>{0, 1, 2, 300}, kLong),
                                                 pass);
                       }),
                       "label 300 is outside the vocabulary of 300 tokens"));
  EXPECT_TRUE(
      contains(error_of([&] { token_log_probabilities(network, hidden, labels.narrow(0, 0, 2), pass); }),
               "expected a label for each of 4 rows, found 2"));
}

}  // namespace
}  // namespace attend
