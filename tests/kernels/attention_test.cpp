#include "kernels/int8/int8.h"
#include "kernels/int8/pages.h"
#include "kernels/kernels_test.h"

#include <string>

#include <fmt/format.h>

namespace attend::kernels {
namespace {

class AttentionKernelsTest : public KernelsTest {};

// Attention over four sequences: two have a single query, and the last is longer than any window and block.
// Gradients are compared with finite differences of the definition's own loss sum(out * direction).
struct AttentionCase {
  std::vector<std::int64_t> query_offsets{0, 1, 6, 7, 107}, key_begin{0, 4, 9, 64}, key_length{4, 5, 55, 100};
  std::int64_t heads = 2, size = 12, window = 0;
  bool causal = true, penalties = false;
  std::int64_t key_heads = 2;
  double cap = 0;
  std::vector<double> sinks = {};  // of each head, or none
  std::vector<double> q, k, v;
  double scale = 0.3;

  std::int64_t width() const { return heads * size; }
  std::int64_t key_width() const { return key_heads * size; }
  // With `penalties`: of query i of sequence b for key j. Every query sees some keys, but not all the same
  // ones.
  double penalty(std::int64_t b, std::int64_t i, std::int64_t j) const {
    if (!penalties) return 0;
    return (7 * i + 3 * j + b) % 4 == 0 ? -1e30 : -0.25 * static_cast<double>((i + j) % 3);
  }
  std::vector<double> out(std::vector<double>* weights = nullptr) const {
    std::vector<double> result(query_offsets.back() * width());
    for (std::size_t b = 0; b < key_length.size(); ++b)
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t Lq = query_offsets[b + 1] - query_offsets[b], Lk = key_length[b];
        for (std::int64_t i = 0; i < Lq; ++i) {
          std::vector<double> p(Lk, 0);
          double total = 0;
          for (std::int64_t j = 0; j < Lk; ++j) {
            if (causal && j > i + Lk - Lq) continue;
            if (window > 0 && j <= i + Lk - Lq - window) continue;
            if (window > 0 && j >= i + Lk - Lq + window) continue;
            double score = 0;
            for (std::int64_t d = 0; d < size; ++d)
              score += q[(query_offsets[b] + i) * width() + h * size + d] *
                       k[(key_begin[b] + j) * key_width() + h * key_heads / heads * size + d];
            score *= scale;
            if (cap > 0) score = cap * std::tanh(score / cap);
            total += p[j] = std::exp(score + penalty(b, i, j));
          }
          if (!sinks.empty()) total += std::exp(sinks[h]);
          for (std::int64_t j = 0; j < Lk; ++j) {
            p[j] /= total;
            if (weights && b + 1 == key_length.size()) weights->push_back(p[j]);
            for (std::int64_t d = 0; d < size; ++d)
              result[(query_offsets[b] + i) * width() + h * size + d] +=
                  p[j] * v[(key_begin[b] + j) * key_width() + h * key_heads / heads * size + d];
          }
        }
      }
    return result;
  }
};

TEST_P(AttentionKernelsTest, AttentionForwardAndBackward) {
  struct {
    bool causal;
    std::int64_t window;
    bool penalties;
    std::int64_t heads = 2, key_heads = 2;
    double cap = 0;
    bool sinks = false;
  } const patterns[] = {{false, 0, false},
                        {true, 0, false},
                        {true, 1, false},
                        {true, 20, false},
                        {true, 77, false},
                        {false, 0, true},
                        {false, 21, false},
                        {true, 0, false, 6, 2},
                        {false, 9, false, 3, 1},
                        {true, 20, false, 4, 2, 0.7, true},
                        {false, 0, true, 2, 2, 0.7},
                        {true, 0, false, 2, 1, 0, true}};
  for (const auto [causal, window, penalties, heads, key_heads, cap, sinks] : patterns) {
    SCOPED_TRACE(fmt::format("causal {}, window {}, penalties {}, {} of {} heads, cap {}, sinks {}", causal,
                             window, penalties, key_heads, heads, cap, sinks));
    AttentionCase c;
    c.causal = causal, c.window = window, c.penalties = penalties;
    c.heads = heads, c.key_heads = key_heads, c.cap = cap;
    const std::int64_t Tq = 107, Tk = 164, w = c.width(), kw = c.key_width();
    const auto q = random_numbers(Tq * w, 1), k = random_numbers(Tk * kw, 2), v = random_numbers(Tk * kw, 3),
               sink_scores = random_numbers(heads, 5), direction = random_numbers(Tq * w, 4);
    c.q.assign(q.begin(), q.end()), c.k.assign(k.begin(), k.end()), c.v.assign(v.begin(), v.end());

    std::vector<float> out(Tq * w), weights(c.heads * 100 * 100);
    std::vector<float> unused(c.heads * 55);
    float* const probabilities[] = {unused.data(), unused.data(), unused.data(), weights.data()};
    Attention a;
    a.sequences = 4, a.heads = c.heads, a.head_size = c.size;
    a.query = q.data(), a.query_stride = w, a.query_offsets = c.query_offsets.data();
    a.keys.key = k.data(), a.keys.value = v.data(), a.keys.stride = kw;
    a.keys.key_begin = c.key_begin.data(), a.keys.key_length = c.key_length.data();
    a.key_heads = key_heads, a.soft_cap = static_cast<float>(cap);
    if (sinks) {
      c.sinks.assign(sink_scores.begin(), sink_scores.end());
      a.sinks = sink_scores.data();
    }
    a.causal = causal, a.window = window, a.scale = static_cast<float>(c.scale);
    a.out = out.data(), a.out_stride = w, a.probabilities = probabilities;
    std::vector<std::vector<float>> rows(4);
    std::vector<const float*> pointers;
    for (std::int64_t b = 0; b < 4; ++b) {
      for (std::int64_t i = 0; i < c.query_offsets[b + 1] - c.query_offsets[b]; ++i)
        for (std::int64_t j = 0; j < c.key_length[b]; ++j)
          rows[b].push_back(static_cast<float>(c.penalty(b, i, j)));
      pointers.push_back(rows[b].data());
    }
    if (penalties) a.penalty = pointers.data();
    std::vector<float> scratch(kernels_->attention_scratch(a));
    kernels_->attention_forward(a, 0, 4 * c.heads, scratch.data());
    std::vector<double> expected_weights;
    EXPECT_LT(difference(out, c.out(&expected_weights)), 2e-6);
    EXPECT_LT(difference(weights, expected_weights), 2e-6);

    std::vector<float> dq(Tq * w), dk(Tk * kw), dv(Tk * kw), dsinks(4 * heads);
    AttentionGradient g;
    g.out_gradient = direction.data(), g.out_gradient_stride = w;
    g.query_gradient = dq.data(), g.query_gradient_stride = w;
    g.key_gradient = dk.data(), g.value_gradient = dv.data(), g.key_gradient_stride = kw;
    if (sinks) g.sinks = dsinks.data();
    kernels_->attention_backward(a, g, 0, 4 * key_heads, scratch.data());
    const auto loss = [&] {
      const std::vector<double> y = c.out();
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * direction[i];
      return sum;
    };
    const auto slope = [&](double& x) {
      constexpr double h = 1e-5;
      const double before = x;
      x = before + h;
      const double above = loss();
      x = before - h;
      const double below = loss();
      x = before;
      return (above - below) / (2 * h);
    };
    for (std::int64_t at = 5; at < Tq * w; at += 97) EXPECT_NEAR(dq[at], slope(c.q[at]), 2e-5);
    for (std::int64_t at = 5; at < Tk * kw; at += 97) EXPECT_NEAR(dk[at], slope(c.k[at]), 2e-5);
    for (std::int64_t at = 5; at < Tk * kw; at += 97) EXPECT_NEAR(dv[at], slope(c.v[at]), 2e-5);
    for (std::int64_t h = 0; sinks && h < heads; ++h) {
      double sum = 0;
      for (std::int64_t b = 0; b < 4; ++b) sum += dsinks[b * heads + h];
      EXPECT_NEAR(sum, slope(c.sinks[h]), 2e-5);
    }
  }
}

// Decoding with one, some or many vectors per head, the last of them full or not.
TEST_P(AttentionKernelsTest, ASingleQueryOfEveryHeadSize) {
  for (const std::int64_t size : {1, 7, 12, 16, 20, 33, 48, 64, 100, 128}) {
    AttentionCase c;
    c.query_offsets = {0, 1}, c.key_begin = {3}, c.key_length = {37}, c.size = size, c.scale = 0.1;
    const std::int64_t w = c.width(), rows = 40;
    const auto q = random_numbers(w, 1), k = random_numbers(rows * w, 2), v = random_numbers(rows * w, 3);
    c.q.assign(q.begin(), q.end()), c.k.assign(k.begin(), k.end()), c.v.assign(v.begin(), v.end());
    std::vector<float> out(w);
    Attention a;
    a.sequences = 1, a.heads = c.heads, a.head_size = size, a.query = q.data(), a.query_stride = w;
    a.query_offsets = c.query_offsets.data(), a.keys.key = k.data(), a.keys.value = v.data();
    a.keys.stride = w, a.keys.key_begin = c.key_begin.data(), a.keys.key_length = c.key_length.data();
    a.causal = true, a.scale = static_cast<float>(c.scale), a.out = out.data(), a.out_stride = w;
    std::vector<float> scratch(kernels_->attention_scratch(a));
    kernels_->attention_forward(a, 0, c.heads, scratch.data());
    EXPECT_LT(difference(out, c.out()), 2e-6) << size;
  }
}

// Long texts, whose keys are cut into pieces: the definition, and the same bits in tasks of all heads, of
// some heads, and in attention_forward.
TEST_P(AttentionKernelsTest, DecodingInPieces) {
  constexpr std::int64_t length = 700, size = 20, key_heads = 3, heads = 6;
  for (const auto& [window, sinks, penalties] :
       {std::tuple{0, false, false}, {300, false, false}, {0, true, false}, {0, false, true}}) {
    SCOPED_TRACE(fmt::format("window {}, sinks {}, penalties {}", window, sinks, penalties));
    AttentionCase c;
    c.query_offsets = {0, 1}, c.key_begin = {0}, c.key_length = {length}, c.size = size, c.scale = 0.4;
    c.heads = heads, c.key_heads = key_heads, c.window = window;
    const auto q = random_numbers(c.width(), 1), k = random_numbers(length * c.key_width(), 2),
               v = random_numbers(length * c.key_width(), 3), sink_scores = random_numbers(heads, 4);
    c.q.assign(q.begin(), q.end()), c.k.assign(k.begin(), k.end()), c.v.assign(v.begin(), v.end());
    c.penalties = penalties;
    if (sinks) c.sinks.assign(sink_scores.begin(), sink_scores.end());
    std::vector<float> hidden(length);
    for (std::int64_t j = 0; j < length; ++j) hidden[j] = static_cast<float>(c.penalty(0, 0, j));
    const float* const penalty[] = {hidden.data()};
    std::vector<float> out(c.width()), weights(heads * length);
    float* const probabilities[] = {weights.data()};
    Attention a;
    a.sequences = 1, a.heads = heads, a.key_heads = key_heads, a.head_size = size;
    a.query = q.data(), a.query_stride = c.width(), a.query_offsets = c.query_offsets.data();
    a.keys.key = k.data(), a.keys.value = v.data(), a.keys.stride = c.key_width();
    a.keys.key_begin = c.key_begin.data(), a.keys.key_length = c.key_length.data();
    a.window = window, a.causal = window > 0, a.scale = 0.4f, a.out = out.data(), a.out_stride = c.width();
    if (sinks) a.sinks = sink_scores.data();
    if (penalties) a.penalty = penalty;
    a.probabilities = probabilities;
    std::vector<float> scratch(kernels_->attention_scratch(a));
    kernels_->attention_forward(a, 0, heads, scratch.data());
    std::vector<double> expected_weights;
    EXPECT_LT(difference(out, c.out(&expected_weights)), 2e-6);
    EXPECT_LT(difference(weights, expected_weights), 2e-6);

    for (const std::int64_t groups : {1, 2, 3}) {
      std::vector<float> own(c.width()), own_weights(heads * length),
          own_scratch(kernels_->decode_scratch(a));
      float* const own_probabilities[] = {own_weights.data()};
      a.out = own.data(), a.probabilities = own_probabilities;
      constexpr std::int64_t width = size + kDecodeExtra;
      std::vector<DecodePiece> pieces;
      std::vector<float> sums(4 * heads * width);
      float* row = sums.data();
      std::int64_t count = 0;
      for (std::int64_t j = window > 0 ? length - window : 0; j < length; j = decode_end(j, length), ++count)
        for (std::int64_t g = 0; g < groups; ++g) {
          const std::int64_t first = key_heads * g / groups, some = key_heads * (g + 1) / groups - first;
          pieces.push_back({0, j, decode_end(j, length), first, some, row});
          row += some * heads / key_heads * width;
        }
      kernels_->decode(a, pieces.data(), std::ssize(pieces), own_scratch.data());
      for (std::int64_t h = 0; h < heads; ++h)
        kernels_->join_pieces(a, h, sums.data() + h * width, heads * width, count);
      EXPECT_EQ(out, own) << groups;
      EXPECT_EQ(weights, own_weights) << groups;
    }
  }
}

TEST_P(AttentionKernelsTest, PagedKeysGiveWhatContiguousOnesGive) {
  constexpr std::int64_t rows = 16, w = 24, length = 37;
  const auto q = random_numbers(w, 1), k = random_numbers(length * w, 2), v = random_numbers(length * w, 3);
  std::vector<float> pages(5 * 2 * rows * w), flat(w), paged(w);
  const std::int32_t table[] = {4, 0, 2};
  for (std::int64_t j = 0; j < length; ++j)
    for (std::int64_t d = 0; d < w; ++d) {
      float* head = pages.data() + table[j / rows] * 2 * rows * w + d / 12 * rows * 12;
      head[j % rows * 12 + d % 12] = k[j * w + d];
      head[rows * w + j % rows * 12 + d % 12] = v[j * w + d];
    }
  const std::int64_t offsets[] = {0, 1}, begin[] = {0}, lengths[] = {length};
  Attention a;
  a.sequences = 1, a.heads = 2, a.head_size = 12, a.query = q.data(), a.query_stride = w;
  a.query_offsets = offsets, a.keys.key = k.data(), a.keys.value = v.data(), a.keys.stride = w;
  a.keys.key_begin = begin, a.keys.key_length = lengths, a.scale = 0.3f, a.out = flat.data(),
  a.out_stride = w;
  std::vector<float> scratch(kernels_->attention_scratch(a));
  kernels_->attention_forward(a, 0, 2, scratch.data());
  const std::int32_t* const tables[] = {table};
  a.keys.pages = pages.data(), a.keys.page_table = tables, a.keys.page_rows = rows,
  a.keys.page_stride = 2 * rows * w;
  a.out = paged.data();
  kernels_->attention_forward(a, 0, 2, scratch.data());
  EXPECT_EQ(flat, paged);
}

// Compares with the definition over the numbers that the integers and their scales represent: for one query
// and for several, with and without a window.
TEST_P(AttentionKernelsTest, Int8PagesGiveTheirDequantizedNumbers) {
  constexpr std::int64_t rows = 16, length = 37, heads = 2;  // of keys; there are twice as many query heads
  const std::int32_t table[] = {4, 0, 2};
  for (const std::int64_t size : {1, 7, 12, 16, 20, 33, 64, 100})
    for (const auto& [queries, window] : {std::pair{1, 0}, {1, 9}, {5, 0}, {37, 9}}) {
      const std::int64_t w = heads * size;
      const Int8PageLayout layout{heads, size, rows};
      std::vector<std::int8_t> pages(5 * layout.page_bytes());
      AttentionCase c;
      c.query_offsets = {0, queries}, c.key_begin = {0}, c.key_length = {length};
      c.size = size, c.window = window, c.scale = 0.1, c.heads = 2 * heads;
      const auto q = random_numbers(queries * 2 * w, 1), k = random_numbers(length * w, 2, 3),
                 v = random_numbers(length * w, 3);
      c.q.assign(q.begin(), q.end()), c.k.resize(length * w), c.v.resize(length * w);
      for (std::int64_t j = 0; j < length; ++j)
        for (std::int64_t h = 0; h < heads; ++h)
          for (const std::int64_t half : {0, 1}) {
            const std::vector<float>& from = half == 0 ? k : v;
            std::int8_t* page = pages.data() + table[j / rows] * layout.page_bytes();
            std::int8_t* to = page + layout.bytes_at(half, h) + j % rows * size;
            const float scale = int8_kernels().quantize(to, &from[j * w + h * size], size);
            reinterpret_cast<float*>(page + layout.scales_at(half, h))[j % rows] = scale;
            for (std::int64_t d = 0; d < size; ++d)
              (half == 0 ? c.k : c.v)[j * w + h * size + d] = static_cast<double>(to[d]) * scale;
          }
      std::vector<float> out(queries * 2 * w);
      const std::int32_t* const tables[] = {table};
      Attention a;
      a.sequences = 1, a.heads = 2 * heads, a.key_heads = heads, a.head_size = size;
      a.query = q.data(), a.query_stride = 2 * w;
      a.query_offsets = c.query_offsets.data(), a.keys.int8_pages = pages.data();
      a.keys.page_table = tables, a.keys.page_rows = rows, a.keys.key_length = c.key_length.data();
      a.keys.page_stride = layout.page_bytes();
      a.causal = true, a.window = window, a.scale = static_cast<float>(c.scale);
      a.out = out.data(), a.out_stride = 2 * w;
      std::vector<float> scratch(kernels_->attention_scratch(a));
      kernels_->attention_forward(a, 0, 2 * heads, scratch.data());
      EXPECT_LT(difference(out, c.out()), 4e-6) << size << ", " << queries << " queries";
    }
}

INSTANTIATE_TEST_SUITE_P(Sets, AttentionKernelsTest, testing::ValuesIn(instruction_sets));

}  // namespace
}  // namespace attend::kernels
