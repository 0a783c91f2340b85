// XLNet's training on ragged texts gives the loss and the gradients of the original's padded tensors;
// forward_test.cpp compares those with the original.
#include "models/padded/forward.h"
#include "nn/attention/two_streams.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

const std::filesystem::path kModel = test_data() / "models" / "xlnet-without-memory";

TEST(PermutationLanguageModel, GivesTheGradientsOfPaddedTensors) {
  constexpr std::int64_t L = 6, P = 2;
  std::vector<PermutedText> texts{{.ids = {5, 6, 7, 8, 9, 10},
                                   .types = {0, 0, 0, 1, 1, 1},
                                   .order = {-1, 3, -1, -1, 1, -1},
                                   .predicted = {1, 4}},
                                  {.ids = {11, 12, 13, 14, 15, 16},
                                   .types = {0, 0, 0, 0, 0, 1},
                                   .order = {2, -1, -1, -1, 5, -1},
                                   .predicted = {4, 0}}};
  std::vector<Tensor> ids, types, hidden, mapping, labels;
  for (const PermutedText& text : texts) {
    ids.push_back(ops::tensor(text.ids, kLong));
    types.push_back(ops::tensor(text.types, kLong));
    const Tensor order = ops::tensor(text.order, kLong), targets = ops::tensor(text.predicted, kLong);
    hidden.push_back(
        order.unsqueeze(1).le(order).logical_and(ops::zeros({L}, kBool).index_fill_(0, targets, true)));
    mapping.push_back(ops::one_hot(targets, L));
    labels.push_back(ids.back().index_select(0, targets));
  }
  const auto load = [] { return PretrainedModel::load(ModelDirectory(kModel), Purpose::training); };
  const auto expected = run_forward(load(),
                                    {{"input_ids", ops::stack(ids)},
                                     {"token_type_ids", ops::stack(types)},
                                     {"perm_mask", ops::stack(hidden).to(kFloat)},
                                     {"target_mapping", ops::stack(mapping).to(kFloat)},
                                     {"labels", ops::stack(labels)}},
                                    {.gradients = true});

  const PretrainedModel model = load();
  Transformer network = model.network();
  const TwoStreams streams = two_streams(texts);
  EXPECT_TRUE(ops::equal(streams.labels, ops::cat(labels)));
  Pass pass = Pass::inference();
  const Tensor rows = network->encode(streams.batch, pass).index_select(0, streams.targets);
  const LossSum loss = network->language_model_head->loss(rows, streams.labels, {}, pass);
  EXPECT_EQ(loss.count, 2 * P);
  EXPECT_NEAR(loss.mean().item<double>(), expected.at("loss").item<double>(), 1e-6);
  loss.mean().backward();
  std::size_t compared = 0;
  for (const auto& [name, gradient] : model.by_checkpoint_name(
           [](const std::string&, const Tensor& weight) { return weight.gradient(); }, false)) {
    const Tensor wanted = expected.at("grad." + name);
    EXPECT_LT((gradient - wanted).abs().max().item<double>(), 1e-5 * (1 + wanted.abs().max().item<double>()))
        << name;
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace attend
