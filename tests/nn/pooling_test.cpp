#include "nn/layers/pooling.h"

#include "nn/transformer/head_rows.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Mode = SentencePooling::Mode;

// Text by text, with tensor operations.
Tensor pool_slowly(const Tensor& hidden, const Offsets& offsets, Mode mode) {
  std::vector<Tensor> pooled;
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    const Tensor rows = offsets.part(hidden, b);
    pooled.push_back(mode == Mode::max ? rows.amax(0) : mode == Mode::cls ? rows[0] : rows.mean(0));
  }
  return ops::stack(pooled);
}

TEST(Pooling, HasTheVectorsAndGradientsOfEachTextAlone) {
  const Offsets offsets({3, 1, 17});
  const Tensor data = ops::randn({21, 5}, kDouble), direction = ops::randn({3, 5}, kDouble);
  for (const Mode mode : {Mode::mean, Mode::cls, Mode::max}) {
    const Tensor one = data.clone().set_needs_gradient(true), two = data.clone().set_needs_gradient(true);
    const Tensor fast = pool(one, offsets, mode), slow = pool_slowly(two, offsets, mode);
    EXPECT_TRUE(ops::equal(fast, slow));
    (to_unit_length(fast) * direction).sum().backward();
    (to_unit_length(slow) * direction).sum().backward();
    EXPECT_TRUE(ops::allclose(one.gradient(), two.gradient(), 1e-12, 1e-12));
    for (std::int64_t b = 0; b < offsets.count(); ++b)
      EXPECT_TRUE(ops::equal(pool(offsets.part(data, b), Offsets({offsets.length(b)}), mode)[0], fast[b]));
  }
}

TEST(Pooling, ATextWithoutTokensIsAnError) {
  EXPECT_TRUE(contains(error_of([] {
                         pool(ops::zeros({2, 3}), Offsets({2, 0}), Mode::mean);
                       }),
                       "text 2 of its batch"));
}

Tensor rows(HeadInput input, std::optional<std::int64_t> id, const TokenBatch& batch,
            const TokenBatch* source = nullptr) {
  ScoreHeadSpec spec;
  spec.input = input;
  spec.token_id = id;
  return head_row_numbers(spec, batch, source);
}

TEST(HeadRows, AreFoundInEveryTextByItself) {
  const TokenBatch batch = TokenBatch::from({{7, 5, 9, 9}, {4}, {9, 9}, {5, 9, 5}});
  const auto expect = [](const Tensor& found, const std::vector<std::int64_t>& expected) {
    EXPECT_TRUE(ops::equal(found, ops::tensor(expected, kLong))) << found;
  };
  expect(rows(HeadInput::first_token, {}, batch), {0, 4, 5, 7});
  expect(rows(HeadInput::pooled, {}, batch), {0, 4, 5, 7});
  expect(rows(HeadInput::last_column, {}, batch), {3, 4, 6, 9});
  expect(rows(HeadInput::last_token, {}, batch), {3, 4, 6, 9});
  expect(rows(HeadInput::last_token, 9, batch), {1, 4, 5, 9});
  expect(rows(HeadInput::before_token, {}, batch), {3, 4, 6, 9});
  expect(rows(HeadInput::before_token, 9, batch), {1, 4, 6, 7});
  expect(rows(HeadInput::chosen_token, {}, batch), {3, 4, 6, 9});
  const TokenBatch targets = TokenBatch::from({{1, 1, 1}, {1, 1, 1, 1}}),
                   sources = TokenBatch::from({{2, 5}, {5, 2, 5, 3}});
  expect(rows(HeadInput::end_token, 5, targets, &sources), {1, 5});
  EXPECT_FALSE(rows(HeadInput::every_token, {}, batch).defined());
}

TEST(HeadRows, AMissingEndIsAnError) {
  const TokenBatch targets = TokenBatch::from({{1, 1}, {1}}), none = TokenBatch::from({{5}, {2}}),
                   longer = TokenBatch::from({{5}, {2, 5}});
  EXPECT_TRUE(
      contains(error_of([&] { rows(HeadInput::end_token, 5, targets, &none); }), "sequence 2 has none"));
  EXPECT_TRUE(contains(error_of([&] { rows(HeadInput::end_token, 5, targets, &longer); }),
                       "expected a target of more than 1"));
  EXPECT_TRUE(contains(error_of([&] { rows(HeadInput::end_token, 5, targets); }), "expected a source"));
}

}  // namespace
}  // namespace attend
