// Many texts and pictures, which are read in groups: each result is the same as alone, for the network of
// every family.
#include "base/parallel.h"
#include "models/checkpoint/pretrained_model.h"
#include "nn/pass/pass.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

void read_pictures(Transformer network) {
  const PatchSpec& spec = network->encoder->patches->spec();
  ops::manual_seed(5);
  const Tensor pixels = ops::randn({200, spec.channels, spec.height, spec.width});
  const auto read = [&](const Tensor& some) {
    Pass pass = Pass::inference();
    return network->encode(ImageBatch{some, {}}, pass);
  };
  const std::size_t threads = thread_count();
  set_thread_count(2);
  const Tensor all = read(pixels);  // [200 * tokens, d]
  const std::int64_t tokens = all.size(0) / 200;
  ASSERT_GT(all.size(0), 1500);
  for (const std::int64_t b : {0, 101, 199})
    EXPECT_TRUE(ops::equal(all.narrow(0, b * tokens, tokens), read(pixels.narrow(0, b, 1))))
        << "picture " << b;
  set_thread_count(threads);
}

class ManyTexts : public testing::TestWithParam<std::string> {};

TEST_P(ManyTexts, AreWhatEachIsAlone) {
  const PretrainedModel model =
      PretrainedModel::load(ModelDirectory(test_data() / "models" / GetParam()), {});
  Transformer network = model.network();
  const Stack& stack = network->encoder ? network->encoder : network->decoder;
  if (!stack->embeddings) return read_pictures(network);
  ops::manual_seed(5);
  // About 1,500 tokens: more than one or two threads read at a time.
  const std::int64_t longest = std::min<std::int64_t>(12, stack->max_positions() - 1);
  std::vector<std::vector<std::int64_t>> texts;
  for (std::int64_t tokens = 0; tokens < 1500; tokens += std::ssize(texts.back())) {
    const std::int64_t length = 1 + std::ssize(texts) % longest;
    texts.emplace_back();
    for (std::int64_t i = 0; i < length; ++i)
      texts.back().push_back(2 + (7 * std::ssize(texts) + 5 * i * i) % 18);
  }
  const std::size_t threads = thread_count();
  set_thread_count(2);
  const auto read = [&](const TokenBatch& batch) {
    Pass pass = Pass::inference();
    return network->encoder ? network->encode(batch, pass) : network->decode(batch, pass);
  };
  const TokenBatch batch = TokenBatch::from(texts);
  const Tensor all = read(batch);
  ASSERT_EQ(all.size(0), batch.offsets.total());
  for (const std::size_t b : {std::size_t{0}, texts.size() / 2, texts.size() - 1})
    EXPECT_TRUE(
        ops::equal(batch.offsets.part(all, static_cast<std::int64_t>(b)), read(TokenBatch::from({texts[b]}))))
        << "text " << b;
  set_thread_count(threads);
}

INSTANTIATE_TEST_SUITE_P(Networks, ManyTexts, testing::ValuesIn(golden_networks()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace attend
