// A family that is defined here, as docs/extending.md describes it: a function that reads the config, a table
// of names, and a record. Everything else works without knowing it.
#include "models/families/gpt_decoder.h"
#include "nn/transformer/initialize.h"
#include "nn/transformer/transformer.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// GPT-2's blocks, in which each token sees only itself and the one before it.
ModelSpec pairs_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = gpt_model(config, architecture, {.width = 16, .heads = 2, .positions = 32});
  for (LayerSpec& layer : model.decoder->layers) layer.self_attention.window = config.integer({"seen"}, 2);
  return model;
}

std::vector<WeightName> pairs_weights(const ModelSpec& model) {
  const std::string layer = "decoder.layers.{i}.";
  return with_gpt_heads(
      model, {{"words.weight", "decoder.embeddings.tokens"},
              {"places.weight", "decoder.embeddings.positions"},
              {"block.{i}.{ask|look|take}.weight", layer + "self_attention.query_key_value.weight"},
              {"block.{i}.{ask|look|take}.bias", layer + "self_attention.query_key_value.bias"},
              {"block.{i}.mix.{weight|bias}", layer + "self_attention.output.{weight|bias}"},
              {"block.{i}.wide.{weight|bias}", layer + "feed_forward.in.{weight|bias}"},
              {"block.{i}.narrow.{weight|bias}", layer + "feed_forward.out.{weight|bias}"},
              {"block.{i}.before_attention.{weight|bias}", layer + "self_attention_norm.{weight|bias}"},
              {"block.{i}.before_wide.{weight|bias}", layer + "feed_forward_norm.{weight|bias}"},
              {"last.{weight|bias}", "decoder.final_norm.{weight|bias}"}});
}

const Family pairs = {
    .model_type = "pairs",
    .prefix = "",
    .architectures = {"PairsLMHeadModel"},
    .spec = pairs_spec,
    .weights = pairs_weights,
    .optional_fields = {"seen"},
    .presets = {"tiny"},
    .fresh_config =
        [](std::string_view) {
          return Json{{"vocab_size", 11}, {"n_layer", 1}};
        },
};

Transformer network_of(const Json& more) {
  Json config = pairs.fresh_config("tiny");
  config.update(more);
  Transformer network(pairs.spec(Fields(config, "config.json"), pairs.architectures[0]));
  initialize(network, 3);
  return network;
}

// [tokens, 11]
Tensor scores(Transformer& network, const std::vector<std::int64_t>& ids) {
  const Unrecorded inference;
  Pass pass = Pass::inference();
  return network->language_model_head->forward(network->decode(TokenBatch::from({ids}), pass), pass);
}

TEST(AddedFamily, RunsWithItsOwnBlocks) {
  Transformer network = network_of(Json::object()), wider = network_of({{"seen", 5}});
  const Tensor a = scores(network, {1, 2, 3, 4}), b = scores(network, {9, 2, 3, 4});
  EXPECT_FALSE(ops::equal(a.narrow(0, 1, 1), b.narrow(0, 1, 1)));  // sees the first token
  EXPECT_TRUE(ops::equal(a.narrow(0, 2, 2), b.narrow(0, 2, 2)));
  EXPECT_FALSE(
      ops::equal(scores(wider, {1, 2, 3, 4}).narrow(0, 3, 1), scores(wider, {9, 2, 3, 4}).narrow(0, 3, 1)));
}

TEST(AddedFamily, NamesEveryParameter) {
  Transformer network = network_of(Json::object());
  const std::vector<WeightName> table = pairs.weights(network->spec());
  std::size_t count = 0;
  for (const auto& item : network->named_parameters()) {
    EXPECT_FALSE(find_source(table, item.key()).names.empty()) << item.key();
    ++count;
  }
  EXPECT_GT(count, 10u);
  EXPECT_EQ(find_source(table, "decoder.layers.0.self_attention.query_key_value.weight").names,
            (std::vector<std::string>{"block.0.ask.weight", "block.0.look.weight", "block.0.take.weight"}));
}

}  // namespace
}  // namespace attend
