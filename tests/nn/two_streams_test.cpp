#include "nn/attention/two_streams.h"

#include "expect_error.h"
#include "nn/transformer/initialize.h"
#include "nn/transformer/transformer.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// The encoder of a tiny XLNet.
Transformer network() {
  LayerSpec layer{.norm = {1e-12},
                  .self_attention = {.heads = 2, .head_size = 4, .scale = 0.5},
                  .feed_forward = {.width = 11, .activation = Activation::gelu}};
  layer.self_attention.input_bias = layer.self_attention.output_bias = false;
  layer.self_attention.distance = DistanceTerms{.biases = true, .segments = true};
  StackSpec stack;
  stack.embeddings.vocabulary = 31;
  stack.embeddings.width = 8;
  stack.embeddings.mask_vector = true;
  stack.layers = {layer, layer};
  stack.distances = SinusoidalDistances{};
  stack.two_streams = true;
  ModelSpec spec;
  spec.encoder = stack;
  spec.initialization.range = 0.5;
  Transformer made(spec);
  initialize(made, 3);
  return made;
}

// Tokens 1, 4 and 2 are predicted, in this order; the others are visible to all.
PermutedText some_text(bool types) {
  PermutedText text{.ids = {5, 6, 7, 8, 9}, .order = {-1, 0, 2, -1, 1}, .predicted = {1, 2, 4}};
  if (types) text.types = {0, 0, 1, 1, 1};
  return text;
}

Tensor encode(Transformer& net, const TwoStreams& streams) {
  Unrecorded inference;
  Pass pass = Pass::inference();
  return net->encode(streams.batch, pass);
}

TEST(TwoStreams, RowsSeeWhatComesBeforeThemInTheOrder) {
  const TwoStreams streams = two_streams({some_text(false)});
  const QueryMask& own = streams.batch.visible->own[0];
  const Tensor seen = own.penalty.eq(0).to(kLong);
  EXPECT_TRUE(ops::equal(seen, ops::tensor({1, 0, 0, 1, 0,   // tokens that are not predicted
                                            1, 1, 0, 1, 0,   // token 1, the first: itself
                                            1, 1, 1, 1, 1,   // token 2, the last
                                            1, 0, 0, 1, 0,   //
                                            1, 1, 0, 1, 1,   // token 4
                                            1, 0, 0, 1, 0,   // its queries do not see themselves: 1
                                            1, 1, 0, 1, 1,   // 2
                                            1, 1, 0, 1, 0},  // 4
                                           kLong)
                                   .view({8, 5})));
  EXPECT_TRUE(ops::equal(own.places, ops::tensor({0, 1, 2, 3, 4, 1, 2, 4}, kLong)));
  EXPECT_TRUE(ops::equal(streams.targets, ops::tensor({5, 6, 7}, kLong)));
  EXPECT_TRUE(ops::equal(streams.labels, ops::tensor({6, 7, 9}, kLong)));
}

// The rule from transformers' collator, on random orders.
TEST(TwoStreams, HideWhatTheCollatorOfTheOriginalHides) {
  ops::manual_seed(4);
  for (int round = 0; round < 20; ++round) {
    constexpr std::int64_t L = 10;
    const Tensor masked = ops::rand({L}) < 0.4;
    const Tensor perm_index = ops::randperm(L).masked_fill(masked.logical_not(), -1);
    const Tensor perm_mask =
        perm_index.reshape({L, 1}).le(perm_index.reshape({1, L})).logical_and(masked);  // [L, L]
    PermutedText text;
    for (std::int64_t i = 0; i < L; ++i) {
      text.ids.push_back(i);
      text.order.push_back(perm_index[i].item<std::int64_t>());
      if (masked[i].item<bool>()) text.predicted.push_back(i);
    }
    const TwoStreams streams = two_streams({text});
    const Tensor hidden = streams.batch.visible->own[0].penalty.lt(0);
    const Tensor self = ops::eye(L, kBool);
    EXPECT_TRUE(ops::equal(hidden.narrow(0, 0, L), perm_mask.logical_and(self.logical_not())));
    EXPECT_TRUE(ops::equal(hidden.narrow(0, L, streams.targets.numel()),
                           perm_mask.index_select(0, masked.nonzero().squeeze(1))));
  }
}

TEST(TwoStreams, TextsAreIndependent) {
  Transformer net = network();
  for (const bool types : {false, true}) {
    PermutedText other{.ids = {11, 12, 13}, .order = {0, -1, -1}, .predicted = {0}},
        plain{.ids = {21}, .order = {0}};
    if (types) {
      other.types = {1, 1, 0};
      plain.types = {1};
    }
    const std::vector<PermutedText> texts{some_text(types), plain, other};
    const TwoStreams together = two_streams(texts);
    const Tensor rows = encode(net, together);
    std::int64_t begin = 0, target = 0;
    for (const PermutedText& text : texts) {
      const TwoStreams alone = two_streams({text});
      const Tensor expected = encode(net, alone);
      EXPECT_TRUE(ops::allclose(rows.narrow(0, begin, expected.size(0)), expected, 1e-5, 1e-6));
      const std::int64_t count = alone.targets.numel();
      EXPECT_TRUE(ops::equal(together.targets.narrow(0, target, count), alone.targets + begin));
      begin += expected.size(0);
      target += count;
    }
  }
}

// A prediction changes with the tokens before it in the order, and with no others.
TEST(TwoStreams, PredictionsComeFromWhatIsSeenAlone) {
  Transformer net = network();
  const TwoStreams streams = two_streams({some_text(true)});
  const Tensor before = encode(net, streams).index_select(0, streams.targets);
  for (std::size_t token = 0; token < 5; ++token) {
    PermutedText changed = some_text(true);
    changed.ids[token] = 25;
    const TwoStreams others = two_streams({changed});
    const Tensor after = encode(net, others).index_select(0, others.targets);
    const bool predicted = std::vector{false, true, true, false, true}[token];
    const std::vector<bool> moves = !predicted   ? std::vector{true, true, true}
                                    : token == 1 ? std::vector{false, true, true}
                                    : token == 4 ? std::vector{false, true, false}
                                                 : std::vector{false, false, false};
    for (std::int64_t t = 0; t < 3; ++t)
      EXPECT_EQ(!ops::allclose(before[t], after[t], 1e-6, 1e-7), moves[static_cast<std::size_t>(t)])
          << "token " << token << ", prediction " << t;
  }
}

TEST(TwoStreams, LookBackAtEarlierSegments) {
  Transformer net = network();
  ops::manual_seed(1);
  const std::vector<Tensor> past{ops::randn({1, 3, 8}), ops::randn({1, 3, 8})};
  const TwoStreams streams = two_streams({some_text(true)}, past);
  EXPECT_EQ(streams.batch.visible->own[0].penalty.size(1), 8);
  const Tensor without = encode(net, two_streams({some_text(true)})), with = encode(net, streams);
  EXPECT_EQ(with.sizes(), without.sizes());
  EXPECT_FALSE(ops::allclose(with, without));
}

TEST(TwoStreams, RefuseNumbersThatDoNotFit) {
  const auto with = [](const auto& change) {
    PermutedText text = some_text(true);
    change(text);
    return std::vector<PermutedText>{some_text(true), text};
  };
  EXPECT_ERROR("for each of 5 tokens, and types for all or none; found 4 and 5",
               two_streams(with([](PermutedText& t) { t.order.pop_back(); })));
  EXPECT_ERROR("for each of 5 tokens, and types for all or none; found 5 and 4",
               two_streams(with([](PermutedText& t) { t.types.pop_back(); })));
  EXPECT_ERROR("text 1: expected types for all texts or for none",
               two_streams(with([](PermutedText& t) { t.types.clear(); })));
  EXPECT_ERROR("predicted tokens from 0 to 4, each once, found 5",
               two_streams(with([](PermutedText& t) { t.predicted[0] = 5; })));
  EXPECT_ERROR("predicted tokens from 0 to 4, each once, found -1",
               two_streams(with([](PermutedText& t) { t.predicted[0] = -1; })));
  EXPECT_ERROR("predicted tokens from 0 to 4, each once, found 2",
               two_streams(with([](PermutedText& t) { t.predicted[0] = 2; })));
  EXPECT_EQ(two_streams({}).targets.numel(), 0);
}

}  // namespace
}  // namespace attend
