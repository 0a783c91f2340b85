// Texts with one query each (nn/attention/decode.h), alone and in a batch.
#include "nn/attention/attention_function.h"
#include "nn/cache/cache.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::int64_t kQueryHeads = 6, kHeadsOfKeys = 2, kHeadSize = 20,
                       kRow = (kQueryHeads + 2 * kHeadsOfKeys) * kHeadSize;

Tensor rows_of_seed(std::int64_t count, std::uint64_t seed) {
  return ops::empty({count, kRow}, kFloat).normal_(0, 1, Generator(seed));
}

// A cache in which some texts have many keys and others few.
struct Texts {
  PagedCache cache;
  std::vector<PagedCache::Sequence> sequences;

  Texts(const std::vector<std::int64_t>& lengths, CacheFormat format)
      : cache({.heads = kHeadsOfKeys, .head_size = kHeadSize, .format = format}) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      sequences.push_back(cache.add());
      cache.extend(sequences.back(), lengths[i]);
      cache.write(
          0, {sequences.back()}, Offsets({lengths[i]}),
          rows_of_seed(lengths[i], i).narrow(1, kQueryHeads * kHeadSize, 2 * kHeadsOfKeys * kHeadSize));
    }
  }

  // The last `counts` keys of each are those of the queries.
  Tensor attend(const std::vector<PagedCache::Sequence>& of, const std::vector<std::int64_t>& counts,
                const Tensor& queries, std::int64_t window) const {
    AttentionCall call;
    call.spec.heads = kQueryHeads, call.spec.key_heads = kHeadsOfKeys, call.spec.head_size = kHeadSize;
    call.spec.scale = 0.3, call.spec.causal = true, call.spec.window = window;
    return attention(queries, Offsets(counts), {.cache = &cache, .sequences = of}, {}, call);
  }
};

class Decode : public testing::TestWithParam<CacheFormat> {};

TEST_P(Decode, GivesTheSameBitsAloneAndNextToPrompts) {
  const Unrecorded no_grad;
  const std::vector<std::int64_t> lengths = {700, 3, 40, 257, 1}, counts = {1, 3, 1, 1, 1};
  const Texts texts(lengths, GetParam());
  const Tensor queries = rows_of_seed(7, 9);
  for (const std::int64_t window : {0, 300}) {
    const Tensor together = texts.attend(texts.sequences, counts, queries, window);
    for (std::int64_t b = 0, first = 0; b < std::ssize(counts); first += counts[b++]) {
      const Tensor own = queries.narrow(0, first, counts[b]);
      EXPECT_TRUE(ops::equal(texts.attend({texts.sequences[b]}, {counts[b]}, own, window),
                             together.narrow(0, first, counts[b])))
          << "text " << b << ", window " << window;
    }
    // Without the prompt, all have one query.
    std::vector<PagedCache::Sequence> others;
    std::vector<Tensor> own, wanted;
    for (std::int64_t b = 0, first = 0; b < std::ssize(counts); first += counts[b++]) {
      if (counts[b] != 1) continue;
      others.push_back(texts.sequences[b]);
      own.push_back(queries.narrow(0, first, 1));
      wanted.push_back(together.narrow(0, first, 1));
    }
    EXPECT_TRUE(ops::equal(texts.attend(others, {1, 1, 1, 1}, ops::cat(own), window), ops::cat(wanted)));
  }
}

TEST_P(Decode, IsAttentionOverAllKeys) {
  const Unrecorded no_grad;
  const Texts texts({700}, GetParam());
  const Tensor query = rows_of_seed(1, 9);
  const Tensor found = texts.attend(texts.sequences, {1}, query, 0);
  const auto [keys, values] = texts.cache.gather(texts.sequences[0], 0);
  for (std::int64_t h = 0; h < kQueryHeads; ++h) {
    const std::int64_t key_head = h * kHeadsOfKeys / kQueryHeads;
    const Tensor q = query.narrow(1, h * kHeadSize, kHeadSize).to(kDouble),
                 k = keys.narrow(1, key_head * kHeadSize, kHeadSize).to(kDouble),
                 v = values.narrow(1, key_head * kHeadSize, kHeadSize).to(kDouble);
    const Tensor wanted = ops::matmul(ops::softmax(ops::matmul(q, k.t()) * 0.3, 1), v);
    EXPECT_TRUE(ops::allclose(found.narrow(1, h * kHeadSize, kHeadSize).to(kDouble), wanted, 1e-5, 1e-6))
        << h;
  }
}

INSTANTIATE_TEST_SUITE_P(Caches, Decode, testing::Values(CacheFormat::float32, CacheFormat::int8));

}  // namespace
}  // namespace attend
