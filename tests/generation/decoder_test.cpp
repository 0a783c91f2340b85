// The decoder alone: the contents of the cache, and when pages are freed.
#include "generation/decoding/paged_decoder.h"
#include "generation/models.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

Tensor step(Decoder& decoder,
            const std::vector<std::pair<Decoder::Sequence, std::vector<std::int64_t>>>& feeds) {
  const Unrecorded inference;
  std::vector<Decoder::Feed> all;
  for (const auto& [sequence, tokens] : feeds) all.push_back({sequence, tokens});
  return decoder.step(all);
}

TEST(DecoderCache, ForksAreIndependentAndFreeTheirPages) {
  const PretrainedModel model = load_model("gpt2-generation");
  PagedDecoder decoder(model);
  const std::vector<std::int64_t> begin(20, 7);  // a full page and a part of one
  const auto a = add_prompts(decoder, {{begin, {}, {}}})[0];
  step(decoder, {{a, begin}});
  EXPECT_EQ(decoder.cache().pages_in_use(), 2);
  const auto b = decoder.fork(a);
  EXPECT_EQ(decoder.cache().pages_in_use(), 2);
  const Tensor scores = step(decoder, {{a, {8}}, {b, {9}}});
  EXPECT_EQ(decoder.cache().pages_in_use(), 3);  // the full page is still shared

  PagedDecoder other(model);
  for (const auto& [row, last] : {std::pair{0, 8}, {1, 9}}) {
    std::vector<std::int64_t> whole = begin;
    whole.push_back(last);
    const auto c = add_prompts(other, {{whole, {}, {}}})[0];
    EXPECT_TRUE(ops::allclose(step(other, {{c, whole}})[0], scores[row], 1e-4, 1e-5)) << row;
    other.release(c);
  }
  decoder.release(a);
  EXPECT_EQ(decoder.cache().pages_in_use(), 2);
  decoder.release(b);
  EXPECT_EQ(decoder.cache().pages_in_use(), 0);
  EXPECT_EQ(other.cache().pages_in_use(), 0);
}

TEST(DecoderCache, SourcesStayWhileTheyAreInUse) {
  const PretrainedModel model = load_model("marian-generation");
  const Unrecorded inference;
  PagedDecoder decoder(model);
  const std::vector<Prompt> sources = {{{3, 4, 5, 0}, {}, {}}, {{9, 0}, {}, {}}, {{11, 12, 0}, {}, {}}};
  const auto first = add_prompts(decoder, {sources[0], sources[1]});
  EXPECT_EQ(decoder.cache().pages_in_use(), 2);
  const auto branch = decoder.fork(first[1]);
  decoder.release(first[0]);
  decoder.release(first[1]);
  const auto last = add_prompts(decoder, {sources[2]})[0];
  EXPECT_EQ(decoder.cache().pages_in_use(), 2);  // the first is gone, the second is still used
  const Tensor scores = step(decoder, {{last, {40}}, {branch, {40}}});

  PagedDecoder alone(model);
  const auto sequences = add_prompts(alone, {sources[1], sources[2]});
  const Tensor wanted = step(alone, {{sequences[1], {40}}, {sequences[0], {40}}});
  EXPECT_TRUE(ops::allclose(scores, wanted, 1e-4, 1e-5));
}

// Positions as in a padded batch (BART's decoder alone): generated tokens continue after the last one.
TEST(DecoderCache, PromptsHaveTheGivenPositions) {
  const PretrainedModel model = load_model("gpt2-generation");
  PagedDecoder decoder(model);
  const auto a = add_prompts(decoder, {{{7, 8, 9}, {2, 3, 5}, {}}})[0];
  step(decoder, {{a, {7, 8, 9}}});
  const auto b = decoder.fork(a);
  step(decoder, {{a, {4}}});
  const Tensor scores = step(decoder, {{a, {6}}, {b, {4}}});

  const Unrecorded inference;
  TokenBatch whole = TokenBatch::from({{7, 8, 9, 4, 6}});
  whole.positions = ops::tensor({2, 3, 5, 6, 7}, kLong);
  Pass pass = Pass::inference();
  Transformer network = model.network();
  const Tensor wanted = network->language_model_head(network->decode(whole, pass), pass);
  EXPECT_TRUE(ops::allclose(scores[0], wanted[4], 1e-4, 1e-5));
  EXPECT_TRUE(ops::allclose(scores[1], wanted[3], 1e-4, 1e-5));
}

}  // namespace
}  // namespace attend
