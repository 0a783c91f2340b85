// Layers that several processes divide, which are threads here: the results and gradients of the whole model,
// although the processes compute different numbers of texts, or nothing.
#include "training/processes/sharded_layers.h"

#include "models/checkpoint/pretrained_model.h"
#include "models/derived/fresh.h"
#include "parallel/thread_ranks.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

PretrainedModel model_of(std::string_view family) {
  Json config = find_family(family).fresh_config("tiny");
  config["vocab_size"] = 30;
  const PretrainedModel model = PretrainedModel::fresh(Fields(config, "config.json"), 5);
  for (const Tensor& weight : model.network()->parameters()) weight.set_needs_gradient();
  return model;
}

TokenBatch texts(std::int64_t seed) {
  return TokenBatch::from({{1 + seed, 7, 3}, {2, 9 + seed, 4, 8, 5}});
}

// The last hidden states; an encoder-decoder reads the same texts twice.
Tensor hidden(Transformer network, const TokenBatch& batch, Pass& pass) {
  if (!network->is_encoder_decoder())
    return network->decoder ? network->decode(batch, pass) : network->encode(batch, pass);
  const CrossAttentionKV memory = network->project_kv(batch, pass);
  return network->decode(batch, pass, &memory);
}

Tensor read(const Transformer& network, const TokenBatch& batch) {
  Pass pass = Pass::inference();
  pass.gradients = false;
  const PassScope scope(pass);
  return hidden(network, batch, pass);
}

void add_gradients(const Transformer& network, const TokenBatch& batch) {
  Pass pass = Pass::training(3);
  hidden(network, batch, pass).square().sum().backward();
}

using Named = std::map<std::string, Tensor>;

Named gradients_of_whole(std::string_view family, const std::vector<std::int64_t>& seeds) {
  const PretrainedModel model = model_of(family);
  for (const std::int64_t seed : seeds) add_gradients(model.network(), texts(seed));
  Named gradients;
  for (const auto& item : model.network()->named_parameters())
    gradients[item.key()] = item.value().gradient();
  return gradients;
}

class Divided : public testing::TestWithParam<const char*> {};

TEST_P(Divided, EachTensorHasOneOwnerAndIsNowhereElse) {
  const PretrainedModel whole = model_of(GetParam());
  std::mutex mutex;
  std::map<std::string, int> kept;
  on_ranks(3, [&](Ranks& ranks) {
    const PretrainedModel model = model_of(GetParam());
    const auto layers = std::make_shared<ShardedLayers>(ranks);
    layers->shard(model.network());
    const std::scoped_lock lock(mutex);
    for (const auto& item : model.network()->named_parameters()) {
      const Tensor& weight = item.value();
      if (!layers->owner(weight)) continue;
      const bool is_here = weight.isfinite().all().item<bool>();
      EXPECT_EQ(is_here, layers->owner(weight) == ranks.rank()) << item.key();
      kept[item.key()] += is_here ? 1 : 0;
    }
  });
  std::size_t of_layers = 0;
  for (const auto& item : whole.network()->named_parameters())
    if (item.key().find(".layers.") != std::string::npos) ++of_layers;
  EXPECT_EQ(kept.size(), of_layers);
  for (const auto& [name, count] : kept) EXPECT_EQ(count, 1) << name;
}

TEST_P(Divided, ResultsAreThoseOfTheWholeModel) {
  const Tensor expected = read(model_of(GetParam()).network(), texts(1));
  on_ranks(3, [&](Ranks& ranks) {
    const PretrainedModel model = model_of(GetParam());
    const auto layers = std::make_shared<ShardedLayers>(ranks);
    layers->shard(model.network());
    // Rank 0 computes three times, rank 1 once, rank 2 not at all.
    for (std::int64_t i = 0; i < 3 - 2 * ranks.rank(); ++i)
      EXPECT_TRUE(ops::equal(read(model.network(), texts(1)), expected)) << i;
    EXPECT_EQ(ranks.sum(1), 3) << "an ordinary collective waits for them";
  });
}

TEST_P(Divided, GradientsAreSumsOverAllTexts) {
  const Named expected = gradients_of_whole(GetParam(), {0, 1, 2, 0});
  std::mutex mutex;
  Named found;
  on_ranks(3, [&](Ranks& ranks) {
    const PretrainedModel model = model_of(GetParam());
    const auto layers = std::make_shared<ShardedLayers>(ranks);
    layers->shard(model.network());
    // Rank 0 has the texts 0, 1 and 2, rank 1 only 0, rank 2 none.
    for (std::int64_t i = 0; i < 3 - 2 * ranks.rank(); ++i) add_gradients(model.network(), texts(i));
    layers->wait_for_all();
    const std::scoped_lock lock(mutex);
    for (const auto& item : model.network()->named_parameters()) {
      const Tensor& weight = item.value();
      if (!layers->owner(weight)) continue;
      EXPECT_EQ(weight.gradient().defined() && layers->owner(weight) != ranks.rank(), false) << item.key();
      if (layers->owner(weight) == ranks.rank()) found[item.key()] = weight.gradient();
    }
  });
  EXPECT_GT(found.size(), 10);
  for (const auto& [name, gradient] : found) {
    ASSERT_EQ(gradient.defined(), expected.at(name).defined()) << name;
    if (!gradient.defined()) continue;
    EXPECT_TRUE(ops::allclose(gradient, expected.at(name), 1e-4, 1e-5)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Divided, testing::Values("bert", "llama", "albert", "t5"),
                         [](const auto& family) { return std::string(family.param); });

TEST(ShardedLayers, OneProcessReadsAndGivesAllWhileOthersWait) {
  const PretrainedModel whole = model_of("gpt2");
  const TemporaryDirectory folder;
  on_ranks(2, [&](Ranks& ranks) {
    const PretrainedModel model = model_of("gpt2");
    const auto layers = std::make_shared<ShardedLayers>(ranks);
    layers->shard(model.network());
    if (ranks.first()) {
      {
        const ShardedLayers::Whole all(layers.get(), folder.path());
        for (const auto& item : model.network()->named_parameters())
          EXPECT_TRUE(ops::equal(item.value(), whole.network()->named_parameters()[item.key()]))
              << item.key();
      }
      for (const Tensor& weight : model.network()->parameters()) {
        if (!layers->owner(weight)) continue;
        weight.set_data(ops::full(weight.sizes(), 2.0, kFloat));
        layers->give(weight);
      }
    }
    layers->wait_for_all();
    for (const Tensor& weight : model.network()->parameters())
      if (layers->owner(weight)) {
        EXPECT_EQ(weight.eq(2).all().item<bool>(), layers->owner(weight) == ranks.rank());
      }
  });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace attend
