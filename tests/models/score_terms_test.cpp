// The parts of attention scores that a pass captures: added up, they give the weights, for the network of
// every family.
#include "models/checkpoint/pretrained_model.h"
#include "nn/transformer/initialize.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

TokenBatch texts(const Stack& reader) {
  const StackSpec& stack = reader->spec();
  const std::int64_t longest = std::min<std::int64_t>(40, reader->embeddings->max_positions());
  std::vector<std::vector<std::int64_t>> all;
  for (const std::int64_t length : {longest, std::int64_t{1}, longest / 2}) {
    all.emplace_back();
    for (std::int64_t i = 0; i < length; ++i)
      all.back().push_back(2 + (i * 7) % (stack.embeddings.vocabulary - 2));
  }
  TokenBatch batch = TokenBatch::from(all);
  const auto& distance = stack.layers.front().self_attention.distance;
  if (distance && distance->segments) batch.types = ops::arange(batch.ids.numel(), kLong) % 2;
  return batch;
}

Tensor add_up(const ScoreTerms& formed) {
  Tensor scores = ops::matmul(formed.query, formed.key.transpose(1, 2)) * formed.scale;
  for (const auto& term : formed.added) scores = scores + term.scores;
  scores = scores + formed.penalty;
  const Tensor largest = std::get<0>(scores.max(2, true)), exponentials = ops::exp(scores - largest);
  const Tensor counted = formed.copies.defined() ? exponentials * formed.copies : exponentials;
  Tensor sum = counted.sum(2, true);
  if (formed.sinks.defined()) sum = sum + ops::exp(formed.sinks.reshape({-1, 1, 1}) - largest);
  const Tensor weights = exponentials / sum;
  return formed.copies.defined() ? weights * formed.copies.gt(0) : weights;
}

std::size_t compare(const std::vector<std::vector<Tensor>>& weights,
                    const std::vector<std::vector<ScoreTerms>>& scores) {
  std::size_t compared = 0;
  EXPECT_EQ(weights.size(), scores.size());
  for (std::size_t layer = 0; layer < weights.size(); ++layer) {
    EXPECT_EQ(weights[layer].size(), scores[layer].size()) << "layer " << layer;
    for (std::size_t b = 0; b < std::min(weights[layer].size(), scores[layer].size()); ++b, ++compared)
      EXPECT_LT((add_up(scores[layer][b]) - weights[layer][b]).abs().max().item<float>(), 1e-5)
          << "layer " << layer << ", text " << b;
  }
  return compared;
}

class Formed : public testing::TestWithParam<std::string> {};

TEST_P(Formed, ScoresGiveTheWeights) {
  const Unrecorded inference;
  const PretrainedModel model =
      PretrainedModel::load(ModelDirectory(test_data() / "models" / GetParam()), Purpose::training);
  ModelSpec spec = model.network()->spec();
  if (spec.encoder && spec.encoder->half_backwards) GTEST_SKIP() << "reads half of a batch backwards";
  spec.initialization.range = 0.3;
  Transformer network(spec);
  initialize(network, 5);
  const auto run = [&](Pass pass) {
    if (network->reads_images()) {
      const PatchSpec& p = *spec.encoder->patches;
      const Tensor pixels = sin(ops::arange(2 * p.channels * p.height * p.width, kFloat));
      const Tensor encoded =
          network->encode(ImageBatch{pixels.view({2, p.channels, p.height, p.width}), {}}, pass);
      if (!network->decoder) return encoded;
      const CrossAttentionKV memory =
          network->project_kv(encoded, Offsets(std::vector<std::int64_t>(2, encoded.size(0) / 2)), pass);
      return network->decode(TokenBatch::from({{3, 4, 5}, {6}}), pass, &memory);
    }
    if (!network->is_encoder_decoder())
      return network->decoder ? network->decode(texts(network->decoder), pass)
                              : network->encode(texts(network->encoder), pass);
    const TokenBatch sources = texts(network->encoder), targets = texts(network->decoder);
    const CrossAttentionKV memory =
        network->project_kv(network->encode(sources, pass), sources.offsets, pass);
    return network->decode(targets, pass, &memory);
  };
  Capture capture;
  capture.attentions = capture.scores = true;
  Pass pass = Pass::inference();
  pass.capture = &capture;
  const Tensor with = run(pass);
  std::size_t compared = 0;
  for (const Capture::Stack* stack : {&capture.encoder, &capture.decoder}) {
    compared += compare(stack->self_attentions, stack->self_scores);
    compared += compare(stack->cross_attentions, stack->cross_scores);
  }
  EXPECT_GT(compared, 0U);
  EXPECT_LT((with - run(Pass::inference())).abs().max().item<float>(), 1e-5);

  // Only one layer.
  Capture last;
  last.attentions = last.scores = true;
  last.layers = {1};
  pass.capture = &last;
  run(pass);
  const Capture::Stack& stack = network->decoder ? last.decoder : last.encoder;
  for (std::size_t layer = 0; layer < stack.self_attentions.size(); ++layer) {
    EXPECT_EQ(stack.self_attentions[layer].empty(), layer != 1);
    EXPECT_EQ(stack.self_scores[layer].empty(), layer != 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Formed, testing::ValuesIn(golden_networks()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

}  // namespace
}  // namespace attend
