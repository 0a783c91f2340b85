// Keys and values in int8 and bfloat16: the results are near those in float32 for every family, and a result
// depends only on its own text, as with float32.
#include "base/parallel.h"
#include "expect_error.h"
#include "generation/decoding/paged_decoder.h"
#include "generation/decoding/uncached_decoder.h"
#include "generation/generate.h"
#include "generation/models.h"
#include "golden_spec.h"
#include "models/families/generates.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;

PretrainedModel load(const std::string& name, CacheFormat format, std::vector<AdapterPath> adapters = {}) {
  ModelPath path(model_path(name), std::move(adapters));
  path.cache = format;
  return PretrainedModel::load(ModelDirectory(path), Purpose::inference);
}

// A text of each length, for the model's encoder if it has one, else for its decoder.
std::vector<Prompt> prompts_for(const PretrainedModel& model, const Ids& lengths) {
  std::vector<Prompt> prompts;
  for (const std::int64_t length : lengths) {
    Prompt& prompt = prompts.emplace_back();
    if (model.network()->reads_images()) {
      const PatchSpec& patches = *model.network()->encoder->spec().patches;
      ops::manual_seed(static_cast<std::uint64_t>(length));
      prompt.image = ops::randn({patches.channels, patches.height, patches.width});
      continue;
    }
    for (std::int64_t i = 0; i < length; ++i) prompt.ids.push_back(2 + (i * i * 3 + length) % 20);
  }
  return prompts;
}

// Scores after a prompt, then of several tokens at once, then of single ones: [rows, V].
Tensor scores(const PretrainedModel& model, const std::vector<Prompt>& prompts) {
  const Unrecorded inference;
  PagedDecoder decoder(model);
  const auto sequences = add_prompts(decoder, prompts);
  std::vector<Tensor> all;
  const auto step = [&](const std::vector<Ids>& tokens) {
    std::vector<Decoder::Feed> feeds;
    for (std::size_t i = 0; i < tokens.size(); ++i) feeds.push_back({sequences[i], tokens[i], 1});
    all.push_back(decoder.step(feeds));
  };
  std::vector<Ids> first, several(prompts.size(), Ids{5, 3, 9}), one(prompts.size(), Ids{4});
  for (const Prompt& prompt : prompts) first.push_back(decoder.has_encoder() ? Ids{7} : prompt.ids);
  step(first);
  step(several);
  for (int i = 0; i < 3; ++i) step(one);
  return ops::stack(all, 1);  // [texts, steps, V]
}

bool has_cache(const std::string& name) {
  const ModelSpec spec = golden_spec(name);
  return spec.decoder && spec.language_model_head && !lacks_kv_cache(spec);
}

std::vector<std::string> networks_with_cache() {
  std::vector<std::string> names;
  for (const std::string& name : golden_networks())
    if (has_cache(name)) names.push_back(name);
  return names;
}

class RoundedCache : public testing::TestWithParam<std::tuple<std::string, CacheFormat>> {};

TEST_P(RoundedCache, ScoresAreNearFloat32) {
  const auto& [name, format] = GetParam();
  const PretrainedModel exact = load(name, CacheFormat::float32), rounded = load(name, format);
  const auto prompts = prompts_for(exact, {9, 2, 7});
  const Tensor wanted = scores(exact, prompts), found = scores(rounded, prompts);
  const auto error = [](const Tensor& is, const Tensor& should) {
    return ((is - should).square().sum() / should.square().sum()).sqrt().item<double>();
  };
  EXPECT_GT(error(found, wanted), 0);
  if (name != "qwen3-moe" || format != CacheFormat::bfloat16) {
    EXPECT_LT(error(found, wanted), 0.03);
    return;
  }
  // Here a router whose scores are nearly equal chooses another expert, for one token of one text.
  for (const std::int64_t text : {0, 1}) EXPECT_LT(error(found[text], wanted[text]), 0.01);
}

// To the last bit: alone and with others, on one thread and on two.
TEST_P(RoundedCache, ScoresOfATextAreItsOwn) {
  const PretrainedModel model = load(std::get<0>(GetParam()), std::get<1>(GetParam()));
  Ids lengths;
  for (std::int64_t i = 0; i < 64; ++i) lengths.push_back(1 + i * 5 % 9);
  const auto prompts = prompts_for(model, lengths);
  const Tensor together = scores(model, prompts);
  const std::size_t before = thread_count();
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    EXPECT_TRUE(ops::equal(scores(model, prompts), together)) << threads << " threads";
  }
  set_thread_count(before);
  for (std::size_t i = 0; i < prompts.size(); i += 9)
    EXPECT_TRUE(ops::equal(scores(model, {prompts[i]})[0], together[static_cast<std::int64_t>(i)])) << i;
}

constexpr CacheFormat kRounded[] = {CacheFormat::int8, CacheFormat::bfloat16};

INSTANTIATE_TEST_SUITE_P(Networks, RoundedCache,
                         testing::Combine(testing::ValuesIn(networks_with_cache()),
                                          testing::ValuesIn(kRounded)),
                         [](const auto& info) {
                           std::string text = std::get<0>(info.param);
                           std::ranges::replace(text, '-', '_');
                           return text + "_" + std::string(name(std::get<1>(info.param)));
                         });

TEST(CacheFormat, CoversEveryKindOfNetwork) {
  EXPECT_GE(networks_with_cache().size(), 15u);
}

// Keys and values of a prefix come before the text's, and are rounded like them.
TEST(CacheFormat, VirtualTokensAreKeptLikeOthers) {
  for (const auto& [network, adapter] : {std::pair{"gpt2", "gpt2-prefix"}, {"gpt2", "gpt2-prompt"}}) {
    const std::vector<AdapterPath> its = {{test_data() / "adapters" / adapter}};
    const PretrainedModel exact = load(network, CacheFormat::float32, its),
                          rounded = load(network, CacheFormat::int8, its);
    const auto prompts = prompts_for(exact, {9, 2, 7});
    const Tensor wanted = scores(exact, prompts), found = scores(rounded, prompts);
    EXPECT_LT(((found - wanted).square().sum() / wanted.square().sum()).sqrt().item<double>(), 0.02)
        << adapter;
    EXPECT_TRUE(ops::equal(scores(rounded, {prompts[1]})[0], found[1])) << adapter;
  }
}

// Two prompts with a common prefix: the second finds the pages of the first.
TEST(CacheFormat, SharedPagesHoldTheSameAsOwnPages) {
  for (const CacheFormat format : kRounded) {
    const PretrainedModel model = load("gpt2-generation", format);
    const Unrecorded inference;
    Ids first(22, 5), second(22, 5);
    first.back() = 8, second.back() = 9;
    PagedDecoder shared(model);
    const auto both = add_prompts(shared, {{first, {}, {}}, {second, {}, {}}});
    const std::vector<Decoder::Feed> feeds = {{both[0], first}, {both[1], second}};
    const Tensor found = shared.step(feeds);
    EXPECT_EQ(shared.cache().pages_in_use(), 3);
    const Tensor wanted = scores(model, {{second, {}, {}}});
    EXPECT_TRUE(ops::equal(found[1], wanted[0][0]));
    // A branch copies the page that it continues, with its scales.
    const auto branch = shared.fork(both[1]);
    const Ids several = {5, 3, 9}, other = {6};
    shared.step(std::vector<Decoder::Feed>{{branch, other}});
    const Tensor next = shared.step(std::vector<Decoder::Feed>{{both[1], several}});
    EXPECT_TRUE(ops::equal(next[0], wanted[0][1]));
  }
}

TEST(CacheFormat, DraftTokensDoNotChangeTheText) {
  for (const auto& [name, format] : {std::pair{"gpt2-generation", CacheFormat::int8},
                                     {"marian-generation", CacheFormat::int8},
                                     {"gpt2-generation", CacheFormat::bfloat16},
                                     {"marian-generation", CacheFormat::bfloat16}}) {
    const PretrainedModel model = load(name, format);
    const auto prompts = make_prompts(12);
    const Json settings = {{"max_new_tokens", 12}};
    const auto plain = generate(model, prompts, config_of(model, settings));
    Json guessing = settings;
    guessing["prompt_lookup_num_tokens"] = 4;
    const auto looked_up = generate(model, prompts, config_of(model, guessing));
    const auto assisted =
        generate(model, prompts, config_of(model, settings), {.assistant = {.model = &model}});
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(looked_up[i].ids, plain[i].ids) << name << i;
      EXPECT_EQ(assisted[i].ids, plain[i].ids) << name << i;
    }
  }
}

TEST(CacheFormat, WhatIsWrittenIsReadBackRounded) {
  const CacheShape shape{.heads = 3, .head_size = 7, .format = CacheFormat::int8};
  PagedCache cache(shape);
  const auto sequence = cache.add();
  cache.extend(sequence, 21);
  ops::manual_seed(3);
  Tensor key_value = ops::randn({21, 42});
  key_value[4].zero_();
  key_value[6].narrow(0, 0, 7) *= 1e4;
  cache.write(0, {sequence}, Offsets({21}), key_value);
  const auto [keys, values] = cache.gather(sequence, 0);
  const Tensor found = ops::cat({keys, values}, 1).view({21, 6, 7}), given = key_value.view({21, 6, 7});
  const Tensor step = given.abs().amax(2, true) / 127;
  EXPECT_TRUE((found - given).abs().le(0.501 * step).all().item<bool>());
  EXPECT_TRUE(ops::equal(found[4], ops::zeros({6, 7})));
  PagedCache halves({.heads = 3, .head_size = 7, .format = CacheFormat::bfloat16});
  halves.add();
  halves.extend(0, 21);
  halves.write(0, {0}, Offsets({21}), key_value);
  EXPECT_TRUE(ops::equal(ops::cat({halves.gather(0, 0).first, halves.gather(0, 0).second}, 1),
                         key_value.to(kBFloat16).to(kFloat)));
  // A NaN is not lost.
  cache.extend(sequence, 1);
  cache.write(0, {sequence}, Offsets({1}), ops::full({1, 42}, NAN, kFloat));
  EXPECT_TRUE(cache.gather(sequence, 0).second[21].isfinite().logical_not().all().item<bool>());
}

// Weights that round their inputs take a cache that rounds, too, unless told otherwise; then a pass without a
// cache rounds like it.
TEST(CacheFormat, FollowsTheWeights) {
  const auto cache_of = [](const char* name, WeightFormat weights, CacheFormat format) {
    ModelPath path(model_path(name));
    path.weights = weights, path.cache = format;
    return PretrainedModel::load(ModelDirectory(path), Purpose::inference);
  };
  for (const WeightFormat weights : {WeightFormat::bfloat16, WeightFormat::int8, WeightFormat::int4})
    EXPECT_EQ(cache_of("llama", weights, CacheFormat::automatic).cache_format(), CacheFormat::bfloat16);
  for (const WeightFormat weights : {WeightFormat::float32, WeightFormat::float16})
    EXPECT_EQ(cache_of("llama", weights, CacheFormat::automatic).cache_format(), CacheFormat::float32);
  const PretrainedModel exact = cache_of("llama", WeightFormat::int8, CacheFormat::float32);
  EXPECT_EQ(exact.cache_format(), CacheFormat::float32);
  EXPECT_TRUE(exact.cache_differs());  // so that texts are scored by way of the cache
  EXPECT_TRUE(cache_of("llama", WeightFormat::float32, CacheFormat::bfloat16).cache_differs());
  EXPECT_FALSE(cache_of("llama", WeightFormat::float32, CacheFormat::float32).cache_differs());
  EXPECT_FALSE(cache_of("llama", WeightFormat::int8, CacheFormat::automatic).cache_differs());
  EXPECT_EQ(cache_of("bert-model", WeightFormat::int8, CacheFormat::automatic).cache_format(),
            CacheFormat::float32);

  const PretrainedModel model = cache_of("llama", WeightFormat::int8, CacheFormat::automatic);
  const Unrecorded inference;
  const std::vector<Prompt> prompts = prompts_for(model, {9});
  PagedDecoder decoder(model);
  const auto sequences = add_prompts(decoder, prompts);
  const Tensor cached = decoder.step(std::vector<Decoder::Feed>{{sequences[0], prompts[0].ids}});
  Pass pass;
  const Tensor hidden = model.network()->decode(TokenBatch::from(std::vector<Ids>{prompts[0].ids}), pass);
  const Tensor uncached = model.network()->language_model_head(hidden, pass);
  EXPECT_TRUE(ops::equal(cached[0], uncached[8]));
}

TEST(CacheFormat, TheSameMemoryHoldsMorePages) {
  CacheShape shape{.layers = 12, .heads = 12, .head_size = 64};
  EXPECT_EQ(shape.page_bytes(), 12 * 2 * 16 * 12 * 256);
  shape.format = CacheFormat::int8;
  EXPECT_EQ(shape.page_bytes(), 12 * 2 * 16 * 12 * 68);
  shape.format = CacheFormat::bfloat16;
  EXPECT_EQ(shape.page_bytes(), 12 * 2 * 16 * 12 * 128);
  const PretrainedModel model = load("gpt2-generation", CacheFormat::int8);
  const auto decoder = make_decoder(model, {.bytes = 1 << 20});
  EXPECT_EQ(decoder->max_pages(), (1 << 20) / PagedDecoder::page_bytes(model));
  EXPECT_GT(decoder->max_pages(),
            make_decoder(load_model("gpt2-generation"), {.bytes = 1 << 20})->max_pages());
}

TEST(CacheFormat, ModelsWithoutACacheAreRefused) {
  for (const char* name : {"bert-masked-lm", "gpt2-sequence-classification", "xlnet-generation"}) {
    const std::string error = error_of([&] { load(name, CacheFormat::int8); });
    EXPECT_NE(error.find("no KV cache that could be int8"), error.npos) << error;
  }
  for (const char* name : {"transfo-xl-generation", "xlm-generation"}) {
    const std::string error = error_of([&] {
      const PretrainedModel model = load(name, CacheFormat::int8);
      generate(model, std::vector<Ids>{{3}}, config_of(model, Json::object()));
    });
    EXPECT_NE(error.find("no KV cache that could be int8"), error.npos) << error;
  }
  EXPECT_ERROR("cache int4: expected auto, float32, bfloat16 or int8", cache_format("int4"));
  EXPECT_EQ(cache_format(name(CacheFormat::int8)), CacheFormat::int8);
}

}  // namespace
}  // namespace attend
