// The fast path (float32, our kernels) against tensor operations in double precision, which every block can
// also use; and the cache against no cache.
#include "base/parallel.h"
#include "expect_error.h"
#include "nn/spec/spec_dropout.h"
#include "nn/transformer/initialize.h"
#include "nn/transformer/transformer.h"
#include "tensor/parallel.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

ModelSpec encoder_decoder(NormOrder order) {
  const AttentionSpec attention{.heads = 3, .head_size = 5, .scale = 0.4};
  AttentionSpec causal = attention;
  causal.causal = true;
  const EmbeddingSpec embeddings{
      .vocabulary = 23, .width = 14, .scale = 2, .positions = SinusoidalPositions{60}, .norm = {}};
  const LayerSpec layer{.order = order,
                        .norm = {1e-5},
                        .self_attention = attention,
                        .cross_attention = {},
                        .feed_forward = {.width = 19, .activation = Activation::gelu_tanh}};
  LayerSpec decoder_layer = layer;
  decoder_layer.self_attention = causal;
  decoder_layer.cross_attention = attention;
  const std::optional<NormSpec> last = order == NormOrder::pre ? std::optional(NormSpec{1e-5}) : std::nullopt;
  ModelSpec spec;
  spec.encoder = StackSpec{.embeddings = embeddings, .layers = {layer, layer}, .final_norm = last};
  spec.decoder =
      StackSpec{.embeddings = embeddings, .layers = {decoder_layer, decoder_layer}, .final_norm = last};
  spec.language_model_head = LanguageModelHeadSpec{
      .transform = LanguageModelHeadSpec::Transform{Activation::silu, {1e-5}}, .bias = true};
  spec.initialization.range = 0.5;
  return spec;
}

// The encoder and the decoder, each with two kinds of relative positions.
std::vector<ModelSpec> with_distances() {
  std::vector<ModelSpec> specs(3, encoder_decoder(NormOrder::pre));
  for (ModelSpec& spec : specs) {
    spec.initialization.range = 0.3;
    for (StackSpec* stack : {&*spec.encoder, &*spec.decoder}) stack->embeddings.positions = {};
  }
  const auto each = [](ModelSpec& spec, const auto& change) {
    for (StackSpec* stack : {&*spec.encoder, &*spec.decoder})
      for (LayerSpec& layer : stack->layers) change(*stack, layer);
  };
  each(specs[0], [](StackSpec& stack, LayerSpec& layer) {  // T5
    stack.distances = BucketedBias{.buckets = 8, .max_distance = 6};
    stack.final_norm->root_mean_square = layer.norm.root_mean_square = true;
    layer.self_attention.input_bias = layer.self_attention.output_bias = false;
    layer.feed_forward.gated = true;
    layer.feed_forward.bias = false;
  });
  each(specs[1], [](StackSpec& stack, LayerSpec& layer) {  // Transformer-XL and XLNet
    stack.distances = SinusoidalDistances{.clamp = 4};
    layer.self_attention.distance = DistanceTerms{.biases = true, .segments = !layer.self_attention.causal};
  });
  for (LayerSpec& layer : specs[2].encoder->layers) {  // DeBERTa
    layer.self_attention.distance = DistanceTerms{.with_key = true, .key_bias = true};
    layer.self_attention.key_bias = false;
  }
  specs[2].encoder->distances = LearnedDistances{.span = 4, .max_distance = 9, .norm = NormSpec{1e-5}};
  specs[2].encoder->convolution = ConvolutionSpec{.norm = {1e-5}};
  for (LayerSpec& layer : specs[2].decoder->layers)
    layer.self_attention.distance = DistanceTerms{.own_matrices = false};
  specs[2].decoder->distances = LearnedDistances{.span = 3, .norm = {}};
  return specs;
}

const std::vector<std::vector<std::int64_t>> kSources{{1, 2, 3}, {4}, {5, 6, 7, 8, 9, 10, 11}};
const std::vector<std::vector<std::int64_t>> kTargets{{12}, {13, 14, 15, 16}, {17, 18}};

Tensor loss_of(Transformer& network) {
  Pass pass = Pass::inference();
  TokenBatch source = TokenBatch::from(kSources);
  const TokenBatch target = TokenBatch::from(kTargets);
  source.types = ops::arange(source.ids.numel(), kLong) % 3;  // as segments only: there is no table of types
  const CrossAttentionKV memory = network->project_kv(network->encode(source, pass), source.offsets, pass);
  const Tensor hidden = network->decode(target, pass, &memory);
  return network->language_model_head
      ->loss(hidden, ops::tensor({3, 4, -100, 5, 6, 7, 8}, kLong), {.label_smoothing = 0.1}, pass)
      .mean();
}

TEST(Blocks, KernelsAndTorchAgreeOnTheLossAndEveryGradient) {
  std::vector<ModelSpec> specs = with_distances();
  for (const NormOrder order : {NormOrder::post, NormOrder::pre}) specs.push_back(encoder_decoder(order));
  for (const ModelSpec& spec : specs) {
    SCOPED_TRACE(&spec - specs.data());
    Transformer fast(spec), exact(spec);
    initialize(fast, 5);
    initialize(exact, 5);
    ops::convert(*exact, kDouble);
    // The double model's tied matrix must be converted with the others.
    const Tensor fast_loss = loss_of(fast), exact_loss = loss_of(exact);
    EXPECT_NEAR(fast_loss.item<double>(), exact_loss.item<double>(), 1e-5);
    fast_loss.backward();
    exact_loss.backward();
    const auto expected = exact->named_parameters();
    for (const auto& item : fast->named_parameters()) {
      if (!item.value().needs_gradient()) continue;  // a constant of the checkpoint
      const Tensor wanted = expected[item.key()].gradient(), found = item.value().gradient();
      ASSERT_TRUE(found.defined() && wanted.defined()) << item.key();
      EXPECT_LT((found - wanted).abs().max().item<double>(), 2e-5 * (1 + wanted.abs().max().item<double>()))
          << item.key();
    }
  }
}

TEST(Blocks, FactorsAreRoundedToBfloat16OnDemandOnly) {
  ops::manual_seed(1);
  const Tensor bias = ops::randn({50}), dy = ops::randn({37, 50});
  const Tensor x = ops::randn({37, 29}).set_needs_gradient(),
               weight = ops::randn({50, 29}).set_needs_gradient();
  const auto rounded = [](const Tensor& t) {
    return Bfloat16Products::available() ? t.detach().to(kBFloat16).to(kFloat) : t.detach();
  };
  const auto expect_close = [](const Tensor& found, const Tensor& expected) {
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-5 * expected.abs().max().item<double>());
  };
  PackedWeight packed;
  Tensor y;
  {
    const Bfloat16Products on(true);
    {
      const Bfloat16Products off(false);
      expect_close(linear(x, weight, bias, &packed), ops::linear(x, weight, bias));
    }
    y = linear(x, weight, bias, &packed);
    expect_close(y, ops::linear(rounded(x), rounded(weight), bias));
  }
  ops::backward(y, dy);  // with the precision that the function used
  expect_close(x.gradient(), ops::mm(rounded(dy), rounded(weight)));
  expect_close(weight.gradient(), ops::mm(rounded(dy).t(), rounded(x)));
  expect_close(linear(x, weight, bias, &packed), ops::linear(x, weight, bias));
}

TEST(Blocks, APassSaysItsPrecisionAndWhetherGradientsFlow) {
  Transformer network(encoder_decoder(NormOrder::post));
  initialize(network, 1);
  const auto encode = [&](bool bfloat16, bool gradients) {
    Pass pass = Pass::training(1);
    pass.bfloat16 = bfloat16;
    pass.gradients = gradients;
    return network->encode(TokenBatch::from(kSources), pass);
  };
  const Tensor exact = encode(false, true), rounded = encode(true, true);
  EXPECT_EQ(ops::equal(exact, rounded), !Bfloat16Products::available());
  EXPECT_TRUE(ops::allclose(exact, rounded, 0.05, 0.05));
  EXPECT_TRUE(exact.needs_gradient());
  EXPECT_FALSE(encode(false, false).needs_gradient());
  const Unrecorded no_grad;
  EXPECT_FALSE(encode(false, true).needs_gradient());
  EXPECT_FALSE(Bfloat16Products::on());
}

// R-Drop with its equations written out: rows 0 to 2 and 3 to 5 are the two passes.
TEST(Blocks, TwoReadingsAddHalfTheirDivergencesToTheLoss) {
  ops::manual_seed(3);
  const Tensor labels = ops::tensor({4, -100, 16, 4, -100, 16}, kLong);
  const auto leaf = [](Dimensions shape) { return ops::randn(shape).set_needs_gradient(); };
  const Tensor hidden = leaf({6, 5}), weight = leaf({17, 5}), bias = leaf({17});
  const auto gradients_of = [&](const Tensor& loss) {
    return ops::gradients({loss}, {hidden, weight, bias});
  };
  const LossOptions options{.label_smoothing = 0.1, .r_drop = 5};
  PackedWeight packed;
  const LossSum fast = linear_cross_entropy(hidden, weight, bias, labels, options, packed);
  EXPECT_EQ(fast.count, 4);
  const LossSum plain = cross_entropy(ops::linear(hidden, weight, bias), labels, options);

  const Tensor scores = ops::linear(hidden, weight, bias), logs = ops::log_softmax(scores, 1);
  const Tensor p = logs.narrow(0, 0, 3), q = logs.narrow(0, 3, 3), counts = labels.narrow(0, 0, 3) >= 0;
  const auto divergence = [&](const Tensor& from, const Tensor& to) {
    return (ops::kl_div(to, from, ops::Reduction::None, /*log_target=*/true).sum(1) * counts).sum();
  };
  const Tensor expected = ops::cross_entropy_loss(scores, labels, {}, ops::Reduction::Sum, -100, 0.1) +
                          5 * (divergence(p, q) + divergence(q, p)) / 2;
  const auto wanted = gradients_of(expected);
  for (const LossSum& found : {fast, plain}) {
    EXPECT_NEAR(found.sum.item<double>(), expected.item<double>(), 1e-5 * expected.item<double>());
    const auto gradients = gradients_of(found.sum);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_LT((gradients[i] - wanted[i]).abs().max().item<double>(),
                1e-5 * wanted[i].abs().max().item<double>())
          << i;
  }

  const Tensor others = ops::tensor({4, -100, 16, 4, 3, 16}, kLong);
  EXPECT_ERROR("the halves of 6 labels differ",
               linear_cross_entropy(hidden, weight, bias, others, options, packed));
  EXPECT_ERROR(
      "the halves of 5 labels differ",
      linear_cross_entropy(hidden.narrow(0, 0, 5), weight, bias, labels.narrow(0, 0, 5), options, packed));
}

TEST(Blocks, LossOfManyRowsIsThatOfItsBlocks) {
  ops::manual_seed(4);
  const auto leaf = [](Dimensions shape) { return ops::randn(shape).set_needs_gradient(); };
  const std::int64_t rows = 2 * 1100;  // two blocks per pass: one of 1024, the longest, and a shorter one
  const Tensor hidden = leaf({rows, 7}), weight = leaf({33, 7}), bias = leaf({33});
  const Tensor once = ops::randint(33, {rows / 2}).index_fill_(0, ops::tensor({5, 1050}), -100);
  const Tensor labels = ops::cat({once, once});
  const auto results_of = [&](const LossSum& loss) {
    auto results = ops::gradients({loss.sum}, {hidden, weight, bias});
    results.push_back(loss.sum.detach());
    return results;
  };
  for (const double r_drop : {0.0, 5.0}) {
    const LossOptions options{.label_smoothing = 0.1, .r_drop = r_drop};
    const auto wanted = results_of(cross_entropy(ops::linear(hidden, weight, bias), labels, options));
    for (const bool bfloat16 : {false, true}) {
      const Bfloat16Products on(bfloat16);
      const double tolerance = bfloat16 && Bfloat16Products::available() ? 3e-2 : 1e-5;
      PackedWeight packed;
      const auto found = results_of(linear_cross_entropy(hidden, weight, bias, labels, options, packed));
      for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_LT((found[i] - wanted[i]).abs().max().item<double>(),
                  tolerance * wanted[i].abs().max().item<double>())
            << i << ", R-Drop " << r_drop << ", bfloat16 " << bfloat16;
    }
  }
}

TEST(Blocks, TorchUsesTheRequestedNumberOfThreads) {
  const int usual = parallel_threads();
  for (const std::size_t count : {1, 3}) {
    set_thread_count(count);
    EXPECT_EQ(parallel_threads(), static_cast<int>(count));
  }
  set_thread_count(0);
  EXPECT_EQ(parallel_threads(), usual);
}

TEST(Blocks, DropoutIsOffInInferenceAndFollowsTheSeedInTraining) {
  ModelSpec spec = encoder_decoder(NormOrder::post);
  set_dropout(spec, {.all = 0.3, .activation = 0.3});
  Transformer network(spec);
  initialize(network, 1);
  const auto encode = [&](Pass pass) { return network->encode(TokenBatch::from(kSources), pass); };
  EXPECT_TRUE(ops::equal(encode(Pass::inference()), encode(Pass::inference())));
  EXPECT_TRUE(ops::equal(encode(Pass::training(3)), encode(Pass::training(3))));
  EXPECT_FALSE(ops::equal(encode(Pass::training(3)), encode(Pass::training(4))));
  EXPECT_FALSE(ops::equal(encode(Pass::training(3)), encode(Pass::inference())));
}

// With dropout, the gradient is that of exactly the function that the pass computed.
TEST(Blocks, TheGradientKnowsWhatWasDroppedOut) {
  ModelSpec spec = encoder_decoder(NormOrder::post);
  set_dropout(spec, {.all = 0.3, .activation = 0.3});
  Transformer network(spec);
  initialize(network, 1);
  Tensor weight = network->named_parameters()["encoder.layers.0.self_attention.query_key_value.weight"];
  const auto loss = [&] {
    Pass pass = Pass::training(3);
    const Tensor y = network->encode(TokenBatch::from(kSources), pass);
    return (y * sin(ops::arange(y.numel())).view(y.sizes())).sum();
  };
  loss().backward();
  const Tensor direction = ops::randn_like(weight);
  const double slope = (weight.gradient() * direction).sum().item<double>();
  Unrecorded no_grad;
  constexpr double h = 2e-4;
  weight.add_(direction, h);
  const double above = loss().item<double>();
  weight.sub_(direction, 2 * h);
  const double below = loss().item<double>();
  EXPECT_NEAR((above - below) / (2 * h), slope, 0.02 * std::abs(slope) + 0.02);
}

class Decoding : public testing::TestWithParam<ModelSpec> {};
TEST_P(Decoding, StepsWithTheCacheGiveTheSameAsOnePass) {
  Unrecorded inference;
  Transformer network(GetParam());
  initialize(network, 2);
  Pass pass = Pass::inference();
  const TokenBatch source = TokenBatch::from(kSources);
  CrossAttentionKV memory = network->project_kv(network->encode(source, pass), source.offsets, pass);
  std::vector<std::vector<std::int64_t>> targets(3);
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t b = 0; b < 3; ++b) targets[b].push_back((i * 5 + b * 7) % 23);
  const TokenBatch whole = TokenBatch::from(targets);
  const Tensor expected = network->decode(whole, pass, &memory);

  PagedCache cache({.layers = 2, .heads = 3, .head_size = 5});
  CacheUse use{&cache, {cache.add(), cache.add(), cache.add()}};
  for (std::int64_t step = 0; step < 40; step += 1 + step % 3) {  // one, two or three tokens at a time
    const std::int64_t count = std::min<std::int64_t>(1 + step % 3, 40 - step);
    std::vector<std::vector<std::int64_t>> next;
    for (std::int64_t b = 0; b < 3; ++b) {
      next.emplace_back(targets[b].begin() + step, targets[b].begin() + step + count);
      cache.extend(use.sequences[b], count);
    }
    const TokenBatch batch = TokenBatch::from(next, {step, step, step});
    const Tensor found = network->decode(batch, pass, &memory, &use);
    for (std::int64_t b = 0; b < 3; ++b)
      EXPECT_TRUE(ops::allclose(batch.offsets.part(found, b),
                                whole.offsets.part(expected, b).narrow(0, step, count), 1e-4, 1e-5));
  }
}

INSTANTIATE_TEST_SUITE_P(Absolute, Decoding, testing::Values(encoder_decoder(NormOrder::pre)));
INSTANTIATE_TEST_SUITE_P(Relative, Decoding, testing::ValuesIn(with_distances()));

// Large and small distances in both directions, against the formulas of the papers' code, calculated by hand.
TEST(Distances, FallIntoTheBucketsOfThePapers) {
  const Tensor ahead = ops::tensor({-300, -40, -9, -8, -7, -1, 0, 1, 7, 8, 9, 40, 300}, kLong);
  // T5: 32 buckets, half of them for each direction, 8 of these exact; 8 * ln(40 / 8) / ln(16) = 4.6.
  EXPECT_TRUE(ops::equal(rows_of(BucketedBias{32, 128}, ahead, false),
                         ops::tensor({15, 12, 8, 8, 7, 1, 0, 17, 23, 24, 24, 28, 31}, kLong)));
  // In one direction only, 16 are exact; 16 * ln(40 / 16) / ln(8) = 7.05.
  EXPECT_TRUE(ops::equal(rows_of(BucketedBias{32, 128}, ahead, true),
                         ops::tensor({31, 23, 9, 8, 7, 1, 0, 0, 0, 0, 0, 0, 0}, kLong)));
  // DeBERTa v3: 256 buckets per direction, 128 of them exact; 127 * ln(300 / 128) / ln(511 / 128) = 78.2.
  EXPECT_TRUE(ops::equal(
      rows_of(LearnedDistances{.span = 256, .max_distance = 512, .norm = {}}, ahead),
      ops::tensor({256 + 128 + 79, 296, 265, 264, 263, 257, 256, 255, 249, 248, 247, 216, 256 - 128 - 79},
                  kLong)));
  EXPECT_TRUE(ops::equal(rows_of(LearnedDistances{.span = 8, .norm = {}}, ahead),
                         ops::tensor({15, 15, 15, 15, 15, 9, 8, 7, 1, 0, 0, 0, 0}, kLong)));
}

TEST(PagedCache, AForkSharesPagesUntilItGrowsAndGivesThemBack) {
  PagedCache cache({.head_size = 4});
  const auto a = cache.add();
  cache.extend(a, 20);
  cache.write(0, {a}, Offsets({20}), ops::arange(160, kFloat).view({20, 8}));
  EXPECT_EQ(cache.pages_in_use(), 2);
  const auto b = cache.fork(a);
  EXPECT_EQ(cache.pages_in_use(), 2);
  cache.extend(b, 1);  // its last page is partly filled, so it is copied
  EXPECT_EQ(cache.pages_in_use(), 3);
  cache.write(0, {b}, Offsets({1}), ops::full({1, 8}, -1.0f, kFloat));
  EXPECT_EQ(cache.gather(a, 0).first[16].sum().item<float>(),
            cache.gather(b, 0).first[16].sum().item<float>());
  EXPECT_EQ(cache.gather(b, 0).second[20].sum().item<float>(), -4);
  cache.release(a);
  cache.release(b);
  EXPECT_EQ(cache.pages_in_use(), 0);
}

TEST(PagedCache, RefusesToGrowBeyondItsLimit) {
  PagedCache cache({.head_size = 4}, 3);
  const auto a = cache.add();
  cache.extend(a, 48);
  EXPECT_ERROR("the KV cache is full: 3 pages", cache.extend(a, 1));
}

TEST(Embeddings, IdsAndPositionsOutsideTheTablesAreErrors) {
  Transformer network(encoder_decoder(NormOrder::post));
  initialize(network, 1);
  Pass pass = Pass::inference();
  EXPECT_ERROR("token id 23 is outside the model's 0 to 22",
               network->encode(TokenBatch::from({{1, 23}}), pass));
  EXPECT_ERROR("token id -1 is outside the model's 0 to 22", network->encode(TokenBatch::from({{-1}}), pass));
  EXPECT_ERROR("position 60 is outside the model's 0 to 59",
               network->encode(TokenBatch::from({std::vector<std::int64_t>(61, 1)}), pass));
}

}  // namespace
}  // namespace attend
