#include "base/half_precision.h"
#include "kernels/kernels_test.h"

#include <fmt/format.h>

namespace attend::kernels {
namespace {

class Bfloat16AttentionTest : public KernelsTest {};

Bfloat16 rounded(float x) {
  return {to_bfloat16(x)};
}
double number(Bfloat16 x) {
  return from_bfloat16(x.bits);
}

// One sequence: `queries` are the last of `length` positions.
struct Case {
  std::int64_t queries = 1, length = 1, size = 16, heads = 2, key_heads = 2, window = 0;
  bool causal = true, sinks = false, penalties = false;
  float cap = 0, scale = 0.3f;

  std::string name() const {
    return fmt::format(
        "{} of {}, size {}, {} of {} heads, window {}, causal {}, sinks {}, penalties {}, cap {}", queries,
        length, size, key_heads, heads, window, causal, sinks, penalties, cap);
  }
};

// A case with its numbers, and what the kernel makes of it.
struct Computed {
  static constexpr std::int64_t kRows = 16;
  Case c;
  std::vector<float> q, k, v, sinks, penalty, out, weights;
  std::vector<Bfloat16> pages;
  std::vector<std::int32_t> table;

  explicit Computed(const Case& of)
      : c(of),
        q(random_numbers(c.queries * c.heads * c.size, 1, 2)),
        k(random_numbers(c.length * c.key_heads * c.size, 2)),
        v(random_numbers(c.length * c.key_heads * c.size, 3)),
        sinks(random_numbers(c.heads, 4)),
        out(q.size()),
        weights(c.heads * c.queries * c.length) {
    for (std::int64_t i = 0; i < c.queries; ++i)
      for (std::int64_t j = 0; j < c.length; ++j)
        penalty.push_back(hidden(i, j) ? -1e30f : -0.25f * ((i + j) % 3));
    const std::int64_t count = (c.length + kRows - 1) / kRows, page = 2 * kRows * c.key_heads * c.size;
    pages.resize(count * page);
    for (std::int64_t i = 0; i < count; ++i) table.push_back(static_cast<std::int32_t>((i * 7 + 3) % count));
    if (count % 7 == 0)
      for (std::int64_t i = 0; i < count; ++i) table[i] = static_cast<std::int32_t>(i);
    for (std::int64_t j = 0; j < c.length; ++j)
      for (std::int64_t h = 0; h < c.key_heads; ++h)
        for (std::int64_t d = 0; d < c.size; ++d)
          for (const std::int64_t half : {0, 1})
            pages[table[j / kRows] * page + ((half * c.key_heads + h) * kRows + j % kRows) * c.size + d] =
                rounded((half == 0 ? k : v)[(j * c.key_heads + h) * c.size + d]);
  }

  bool hidden(std::int64_t i, std::int64_t j) const { return (7 * i + 3 * j) % 4 == 0; }
  bool sees(std::int64_t i, std::int64_t j) const {
    const std::int64_t at = i + c.length - c.queries;
    if (c.causal && j > at) return false;
    return c.window == 0 || (j > at - c.window && j < at + c.window);
  }

  void attend(const Kernels& kernels, bool paged, bool bfloat16 = true) {
    const std::int64_t offsets[] = {0, c.queries}, begin[] = {0}, lengths[] = {c.length},
                       width = c.key_heads * c.size;
    const std::int32_t* const tables[] = {table.data()};
    const float* const penalties[] = {penalty.data()};
    float* const probabilities[] = {weights.data()};
    Attention a;
    a.sequences = 1, a.heads = c.heads, a.key_heads = c.key_heads, a.head_size = c.size;
    a.query = q.data(), a.query_stride = c.heads * c.size, a.query_offsets = offsets;
    a.keys.key_begin = begin, a.keys.key_length = lengths;
    if (paged) {
      a.keys.bfloat16_pages = pages.data(), a.keys.page_table = tables, a.keys.page_rows = kRows;
      a.keys.page_stride = 2 * kRows * width;
    } else {
      a.keys.key = k.data(), a.keys.value = v.data(), a.keys.stride = width;
    }
    a.causal = c.causal, a.window = c.window, a.scale = c.scale, a.soft_cap = c.cap;
    if (c.sinks) a.sinks = sinks.data();
    if (c.penalties) a.penalty = penalties;
    a.bfloat16 = bfloat16, a.out = out.data(), a.out_stride = c.heads * c.size,
    a.probabilities = probabilities;
    std::vector<float> scratch(kernels.attention_scratch(a), std::nanf(""));
    kernels.attention_forward(a, 0, c.heads, scratch.data());
  }

  // The definition, over rounded queries, keys and values; weights are not rounded.
  void expect_definition() const {
    double worst = 0, worst_weight = 0;
    for (std::int64_t h = 0; h < c.heads; ++h)
      for (std::int64_t i = 0; i < c.queries; ++i) {
        const std::int64_t own = h * c.key_heads / c.heads;
        std::vector<double> p(c.length), sum(c.size);
        double total = c.sinks ? std::exp(sinks[h]) : 0;
        for (std::int64_t j = 0; j < c.length; ++j) {
          if (!sees(i, j)) continue;
          double score = 0;
          for (std::int64_t d = 0; d < c.size; ++d)
            score += number(rounded(q[(i * c.heads + h) * c.size + d] * c.scale)) *
                     number(rounded(k[(j * c.key_heads + own) * c.size + d]));
          if (c.cap > 0) score = c.cap * std::tanh(score / c.cap);
          if (c.penalties) score += penalty[i * c.length + j];
          total += p[j] = std::exp(score);
        }
        for (std::int64_t j = 0; j < c.length; ++j) {
          worst_weight =
              std::max(worst_weight, std::abs(p[j] / total - weights[(h * c.queries + i) * c.length + j]) /
                                         (p[j] / total + 1e-6));
          for (std::int64_t d = 0; d < c.size; ++d)
            sum[d] += p[j] / total * number(rounded(v[(j * c.key_heads + own) * c.size + d]));
        }
        for (std::int64_t d = 0; d < c.size; ++d)
          worst = std::max(worst, std::abs(sum[d] - out[(i * c.heads + h) * c.size + d]));
      }
    // Each weight, and so their sum, is rounded by at most 2^-8 of itself.
    EXPECT_LT(worst_weight, 0x1p-7);
    EXPECT_LT(worst, 0x1p-7);
  }
};

const Case kCases[] = {
    {.queries = 5, .length = 5},
    {.queries = 37, .length = 90, .size = 12},
    {.queries = 33, .length = 33, .size = 33, .causal = false},
    {.queries = 40, .length = 600, .size = 64, .heads = 6, .key_heads = 2},
    {.queries = 65, .length = 1100, .size = 20, .window = 77},
    {.queries = 65, .length = 600, .size = 20, .window = 21, .causal = false},
    {.queries = 40, .length = 520, .size = 100, .heads = 3, .key_heads = 1, .sinks = true, .cap = 0.7f},
    {.queries = 3, .length = 530, .size = 7, .causal = false, .penalties = true},
    {.queries = 1, .length = 700, .size = 64, .heads = 6, .key_heads = 2, .sinks = true},
    {.queries = 1, .length = 300, .size = 33, .window = 260, .penalties = true},
};

TEST_P(Bfloat16AttentionTest, GivesTheDefinition) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name());
    Computed run(c);
    run.attend(*kernels_, /*paged=*/true);
    run.expect_definition();
    if (c.queries == 1) continue;  // one query reads keys as they are stored
    const std::vector<float> paged = run.out, weights = run.weights;
    run.attend(*kernels_, /*paged=*/false);
    EXPECT_EQ(run.out, paged);
    EXPECT_EQ(run.weights, weights);
  }
}

// Pages that have left the window may hold anything.
TEST_P(Bfloat16AttentionTest, DoesNotTouchKeysBeforeTheWindow) {
  for (const std::int64_t queries : {1, 5, 40}) {
    Computed run({.queries = queries, .length = 700, .size = 20, .window = 67});
    run.attend(*kernels_, /*paged=*/true);
    const std::vector<float> wanted = run.out;
    const std::int64_t first = 700 - queries + 1 - 67, page = 2 * Computed::kRows * 2 * 20;
    for (std::int64_t p = 0; p < first / Computed::kRows; ++p)
      std::fill_n(run.pages.begin() + run.table[p] * page, page, Bfloat16{0x7fc0});
    run.attend(*kernels_, /*paged=*/true);
    EXPECT_EQ(run.out, wanted) << queries;
  }
}

// Large scores, whose differences still fit float32, in every order: later pieces raise the unit.
TEST_P(Bfloat16AttentionTest, LargeScores) {
  for (const float slope : {0.2f, -0.2f}) {
    Computed run({.queries = 4, .length = 1300, .size = 8, .causal = false, .penalties = true});
    for (std::int64_t i = 0; i < 4 * 1300; ++i) run.penalty[i] = slope * static_cast<float>(i % 1300);
    run.attend(*kernels_, /*paged=*/true);
    run.expect_definition();
  }
}

// A row's bits do not depend on how a prompt is cut, and a query alone differs only in the order of its sums.
TEST_P(Bfloat16AttentionTest, PiecesOfAPrompt) {
  constexpr std::int64_t length = 600, size = 24;
  for (const std::int64_t window : {0, 90}) {
    Computed whole({.queries = length, .length = length, .size = size, .window = window});
    whole.attend(*kernels_, /*paged=*/true);
    const std::int64_t w = 2 * size;
    for (const std::int64_t queries : {2, 31, 45, 600, 1}) {
      Computed piece({.queries = queries, .length = length, .size = size, .window = window});
      piece.q.assign(whole.q.end() - queries * w, whole.q.end());
      piece.attend(*kernels_, /*paged=*/true);
      const std::vector<float> expected(whole.out.end() - queries * w, whole.out.end());
      if (queries > 1) {
        EXPECT_EQ(piece.out, expected) << queries << ", window " << window;
      }
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(piece.out[i], expected[i], 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, Bfloat16AttentionTest, testing::ValuesIn(instruction_sets));

}  // namespace
}  // namespace attend::kernels
