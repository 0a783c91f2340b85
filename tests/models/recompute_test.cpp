// Gradient checkpointing: every family's network, with dropout everywhere, gives the same gradients with it
// as without, to the last bit.
#include "models/checkpoint/pretrained_model.h"
#include "nn/spec/spec_dropout.h"
#include "nn/transformer/initialize.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

TokenBatch texts(const Stack& reader, std::int64_t seed) {
  const StackSpec& stack = reader->spec();
  std::int64_t longest = 40;  // long enough for BigBird's blocks
  if (reader->embeddings->max_positions() < longest) longest = reader->embeddings->max_positions();
  std::vector<std::vector<std::int64_t>> all;
  for (const std::int64_t length : {longest, std::int64_t{1}, longest / 2}) {
    all.emplace_back();
    for (std::int64_t i = 0; i < length; ++i)
      all.back().push_back(2 + (i * 7 + seed) % (stack.embeddings.vocabulary - 2));
  }
  TokenBatch batch = TokenBatch::from(all);
  const auto& distance = stack.layers.front().self_attention.distance;
  if (distance && distance->segments) batch.types = ops::arange(batch.ids.numel(), kLong) % 2;
  return batch;
}

// The number of functions in the graph of `result`.
std::size_t graph_size(const Tensor& result) {
  std::set<const ops::Node*> seen;
  std::vector<const ops::Node*> next{result.made_by().get()};
  while (!next.empty()) {
    const ops::Node* const node = next.back();
    next.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    for (const auto& edge : node->inputs) next.push_back(edge.node.get());
  }
  return seen.size();
}

class Recomputed : public testing::TestWithParam<std::string> {};

TEST_P(Recomputed, GradientsAreTheSameToTheLastBit) {
  const PretrainedModel model =
      PretrainedModel::load(ModelDirectory(test_data() / "models" / GetParam()), Purpose::training);
  ModelSpec spec = model.network()->spec();
  set_dropout(spec, {.all = 0.3});
  spec.initialization.range = 0.3;
  Transformer network(spec);
  initialize(network, 5);
  std::map<bool, std::size_t> graphs;
  const auto results = [&](bool recompute) {
    for (const Tensor& p : network->parameters()) p.mutable_gradient().reset();
    Pass pass = Pass::training(11);
    pass.recompute = recompute;
    Tensor hidden;
    if (network->reads_images()) {
      const PatchSpec& p = *spec.encoder->patches;
      const Tensor pixels = sin(ops::arange(2 * p.channels * p.height * p.width, kFloat));
      hidden = network->encode(ImageBatch{pixels.view({2, p.channels, p.height, p.width}), {}}, pass);
    } else if (network->is_encoder_decoder()) {
      const TokenBatch source = texts(network->encoder, 3);
      const CrossAttentionKV memory =
          network->project_kv(network->encode(source, pass), source.offsets, pass);
      hidden = network->decode(texts(network->decoder, 5), pass, &memory);
    } else if (network->decoder) {
      hidden = network->decode(texts(network->decoder, 5), pass);
    } else {
      hidden = network->encode(texts(network->encoder, 5), pass);
    }
    graphs[recompute] = graph_size(hidden);
    (hidden * sin(ops::arange(hidden.numel())).view(hidden.sizes())).sum().backward();
    std::map<std::string, Tensor> all{{"hidden", hidden.detach().clone()}};
    for (const auto& item : network->named_parameters())
      if (item.value().gradient().defined())
        all["gradient of " + item.key()] = item.value().gradient().clone();
    all["the next seed"] = ops::scalar_tensor(static_cast<std::int64_t>(pass.next_seed()), kLong);
    return all;
  };
  const auto plain = results(false), again = results(true);
  EXPECT_GT(plain.size(), 10);
  EXPECT_LT(graphs[true], graphs[false]) << "nothing was left to be computed again";
  ASSERT_EQ(plain.size(), again.size());
  for (const auto& [name, tensor] : plain) {
    ASSERT_EQ(again.count(name), 1) << name;
    EXPECT_TRUE(tensor.isfinite().all().item<bool>()) << name;
    EXPECT_TRUE(ops::equal(tensor, again.at(name))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Recomputed, testing::ValuesIn(golden_networks()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace attend
