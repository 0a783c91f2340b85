// Scaled dot-product attention over ragged batches, forward and backward.
//
// A task is one head of one sequence. Its keys and values are packed once (keys transposed, rows padded to
// whole vectors), for all heads of queries that share them; then blocks of queries go through two small
// matrix products with the softmax between them, so that the scores of a block stay in the cache. The
// backward pass computes the scores again (Dao et al. 2022, arXiv:2205.14135) and never stores an Lq x Lk
// matrix.
//
// Legend: Lq, Lk queries and keys of the sequence; D the head size; Lkp, Dp the same rounded up to kLanes.
#include "kernels/attention.h"

#include "kernels/attention_bfloat16.h"
#include "kernels/attention_head.h"
#include "kernels/attention_scores.h"
#include "kernels/decode.h"

#include <cmath>
#include <utility>

namespace attend::kernels::ATTEND_ISA {
namespace {

constexpr std::int64_t kBlock = 32 / kTileRows * kTileRows;  // queries at a time

void copy_row(float* to, const float* from, std::int64_t D, std::int64_t Dp, float scale = 1) {
  for (std::int64_t d = 0; d < D; ++d) to[d] = from[d] * scale;
  for (std::int64_t d = D; d < Dp; ++d) to[d] = 0;
}

// Fills transposed [Dp, Lkp] with the rows that `at(j)` returns; the rest is zero.
template <class At>
void pack_transposed(float* transposed, const Head& head, At at) {
  alignas(64) float tile[W * W];
  for (std::int64_t j = 0; j < head.Lkp; j += W) {
    const std::int64_t rows = head.Lk - j < W ? head.Lk - j : W;
    const float* row[W];
    for (std::int64_t r = 0; r < rows; ++r) row[r] = at(j + r);
    for (std::int64_t d = 0; d < head.D; d += W) {
      const std::int64_t columns = head.D - d < W ? head.D - d : W;
      for (std::int64_t r = 0; r < W; ++r)
        store(tile + r * W, r < rows ? load_part(row[r] + d, columns) : Vector{});
      transpose_tile(transposed + d * head.Lkp + j, head.Lkp, tile, W);
    }
  }
}

// Softmax of scores[first..seen). Sets scores before `first` and from `seen` to `end` to zero; `end` is a
// multiple of kLanes. `sink`: one more score, which only adds to the sum; null: none.
void softmax_row(float* scores, std::int64_t first, std::int64_t seen, std::int64_t end, const float* sink) {
  float highest = highest_score(scores, first, seen);
  if (sink != nullptr && *sink > highest) highest = *sink;
  const IntVector lane = lane_numbers();
  LaneSums total;
  for_vectors(end, [&](std::int64_t j, std::int64_t, int p) {
    Vector e = exp(load(scores + j) - highest);
    if (j + W > seen)
      e = (lane + static_cast<std::int32_t>(j)) < static_cast<std::int32_t>(seen) ? e : Vector{};
    total.part[p] += e;
    store(scores + j, e);
  });
  const float sum = total.total();
  const Vector inverse = splat(1 / (sink == nullptr ? sum : sum + sink_share(sink, highest)));
  for (std::int64_t j = 0; j < end; j += W) store(scores + j, load(scores + j) * inverse);
}

void save_probabilities(const Attention& a, const Head& head, const float* scores, std::int64_t i) {
  float* to = a.probabilities[head.sequence] + (head.head * head.Lq + i) * head.Lk;
  const std::int64_t first = head.first_seen(a, i), seen = head.seen(a, i);
  for (std::int64_t j = 0; j < head.Lk; ++j) to[j] = j >= first && j < seen ? scores[j] : 0;
}

// to [Lk, Dp]: the keys or values of the head in float32.
void widen(const Attention& a, const Head& head, Half half, float* to) {
  for (std::int64_t j = 0; j < head.Lk;) {
    const Int8Rows rows = head.rows<Int8Rows>(a, half, j);
    for (std::int64_t r = 0; r < rows.count; ++r, to += head.Dp) {
      const Vector scale = splat(rows.scales[r]);
      for (std::int64_t d = 0; d < head.D; d += W)
        store(to + d, load_part(rows.row(r) + d, head.D - d < W ? head.D - d : W) * scale);
    }
    j += rows.count;
  }
}

// `packed`: the scratch already holds this head's keys and values.
template <class Rows>
void forward_head(const Attention& a, const Head& head, float* scratch, bool packed) {
  const std::int64_t D = head.D, Dp = head.Dp, Lk = head.Lk, Lkp = head.Lkp;
  float* keys = scratch;                   // [Dp, Lkp]
  float* values = keys + Dp * Lkp;         // [Lk, Dp]
  float* scores = values + Lk * Dp;        // [kBlock, Lkp]
  float* queries = scores + kBlock * Lkp;  // [kBlock, Dp]
  float* sums = queries + kBlock * Dp;     // [kBlock, Dp]
  if (packed) {
    // The head before this one packed them.
  } else if constexpr (std::is_same_v<Rows, Int8Rows>) {
    widen(a, head, Half::keys, values);
    pack_transposed(keys, head, [&](std::int64_t j) { return values + j * Dp; });
    widen(a, head, Half::values, values);
  } else {
    pack_transposed(keys, head, [&](std::int64_t j) { return head.key(a, j); });
    for (std::int64_t j = 0; j < Lk; ++j) copy_row(values + j * Dp, head.value(a, j), D, Dp);
  }

  const DropoutMask mask(a.dropout, a.seed);
  for (std::int64_t begin = 0; begin < head.Lq; begin += kBlock) {
    const std::int64_t rows = head.Lq - begin < kBlock ? head.Lq - begin : kBlock;
    // With a window, nothing before `lower` is touched: the cost of a query does not grow with the length.
    const std::int64_t lower = head.first_seen(a, begin) / kLanes * kLanes,
                       upper = head.seen(a, begin + rows - 1), columns = Head::round_up(upper);
    for (std::int64_t r = 0; r < rows; ++r)
      copy_row(queries + r * Dp, head.query(a, begin + r), D, Dp, a.scale);
    gemm<false>(rows, columns - lower, D, queries, Dp, 1, keys + lower, Lkp, scores + lower, Lkp);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* row = scores + r * Lkp;
      const std::int64_t first = head.first_seen(a, begin + r), seen = head.seen(a, begin + r);
      Head::cap(a, row + first, seen - first);
      head.add_terms(a, begin + r, row + first, first, seen);
      softmax_row(row + lower, first - lower, seen - lower, columns - lower, head.sink(a));
      if (a.probabilities) save_probabilities(a, head, row, begin + r);
      if (a.dropout > 0) {
        const std::uint64_t index = head.dropout_index(a, begin + r);
        for (std::int64_t j = lower; j < columns; j += W) store(row + j, load(row + j) * mask(index + j));
      }
    }
    gemm<false>(rows, Dp, upper - lower, scores + lower, Lkp, 1, values + lower * Dp, Dp, sums, Dp);
    for (std::int64_t r = 0; r < rows; ++r) std::memcpy(head.out(a, begin + r), sums + r * Dp, D * 4);
  }
}

// The scratch memory of a backward task, and its results for one head of keys and values.
struct BackwardMemory {
  float *keys, *values;                             // [Dp, Lkp]
  float *key_rows, *key_gradient, *value_gradient;  // [Lk, Dp]
  float* weights;                                   // [kBlock, Lkp]: probabilities, then with dropout
  float* gradients;                                 // [kBlock, Lkp]: of the probabilities, then of the scores
  float *queries, *out_gradient, *query_gradient;   // [kBlock, Dp]; queries are scaled
  float* plain;                                     // [Lkp]: one row of probabilities without dropout
  float* slopes;                                    // [Lkp]: one row of the derivatives of capped scores

  BackwardMemory(const Attention& a, const Head& head, float* scratch) {
    const std::int64_t rows = head.Lk * head.Dp, columns = head.Lkp * head.Dp, block = kBlock * head.Dp;
    const auto take = [&](std::int64_t count) { return std::exchange(scratch, scratch + count); };
    keys = take(columns);
    values = take(columns);
    key_rows = take(rows);
    key_gradient = take(rows);
    value_gradient = take(rows);
    weights = take(kBlock * head.Lkp);
    gradients = take(kBlock * head.Lkp);
    queries = take(block);
    out_gradient = take(block);
    query_gradient = take(block);
    plain = take(head.Lkp);
    slopes = take(head.Lkp);
    pack_transposed(keys, head, [&](std::int64_t j) { return head.key(a, j); });
    pack_transposed(values, head, [&](std::int64_t j) { return head.value(a, j); });
    for (std::int64_t j = 0; j < head.Lk; ++j)
      copy_row(key_rows + j * head.Dp, head.key(a, j), head.D, head.Dp);
    std::memset(key_gradient, 0, static_cast<std::size_t>(2 * rows) * 4);
  }
};

// Turns scores `weight` and gradients `gradient` of the weights of query i into weights and gradients of the
// scores. Touches keys lower to columns - 1. Adds the gradient of the sink to *sink if it is not null.
void backward_row(const Attention& a, const AttentionGradient& g, const Head& head, const BackwardMemory& m,
                  std::int64_t i, std::int64_t lower, std::int64_t columns, float* weight, float* gradient,
                  float* sink) {
  const DropoutMask mask(a.dropout, a.seed);
  const IntVector lane = lane_numbers();
  const auto first = static_cast<std::int32_t>(head.first_seen(a, i)),
             seen = static_cast<std::int32_t>(head.seen(a, i));
  const std::uint64_t index = head.dropout_index(a, i);
  if (a.soft_cap > 0) {
    Head::cap(a, weight + first, seen - first);
    for (std::int64_t j = lower; j < columns; j += W) {
      const Vector part = load(weight + j) / a.soft_cap;
      store(m.slopes + j, 1 - part * part);
    }
  }
  head.add_terms(a, i, weight + first, first, seen);
  // The softmax again, P = p / sum_j p_j. Subtracting the highest score loses little, because it is near the
  // scores that count; subtracting the logarithm of the sum, which is farther away, would cost each P one or
  // two bits.
  float highest = highest_score(weight + lower, first - lower, seen - lower);
  const float* const score = head.sink(a);
  if (score != nullptr && *score > highest) highest = *score;
  // delta = sum_j P_j dP_j, from exactly the numbers from which it is subtracted, so that the gradients of a
  // row sum to zero. (The output times its gradient would be the same only in exact arithmetic.)
  LaneSums deltas, totals;
  for_vectors(columns - lower, [&](std::int64_t n, std::int64_t, int part) {
    const std::int64_t j = lower + n;
    const IntVector key = lane + static_cast<std::int32_t>(j);
    const Vector p = (key >= first) & (key < seen) ? exp(load(weight + j) - highest) : Vector{};
    Vector dp = load(gradient + j);
    if (a.dropout > 0) {
      const Vector kept = mask(index + j);
      dp *= kept;
      store(weight + j, p * kept);
    } else {
      store(weight + j, p);
    }
    deltas.part[part] = fused(p, dp, deltas.part[part]);
    totals.part[part] += p;
    store(gradient + j, dp);
    if (a.dropout > 0) store(m.plain + j, p);
  });
  const float of_sink = sink_share(score, highest), total = totals.total();
  const float inverse = 1 / (score == nullptr ? total : total + of_sink), delta = deltas.total() * inverse;
  if (sink != nullptr) *sink -= of_sink * inverse * delta;
  const float* p = a.dropout > 0 ? m.plain : weight;
  for (std::int64_t j = lower; j < columns; j += W) {
    store(gradient + j, load(p + j) * inverse * (load(gradient + j) - delta));
    store(weight + j, load(weight + j) * inverse);
  }
  if (a.distance.count > 0) head.distances(a, i).collect(a, g, head.sequence, gradient, first, seen);
  if (a.soft_cap > 0)
    for (std::int64_t j = lower; j < columns; j += W)
      store(gradient + j, load(gradient + j) * load(m.slopes + j));
}

// All queries of one head: writes their gradients, adds to the gradients of their keys and values.
void backward_queries(const Attention& a, const AttentionGradient& g, const Head& head,
                      const BackwardMemory& m) {
  const std::int64_t D = head.D, Dp = head.Dp, Lkp = head.Lkp;
  float* const sink = g.sinks ? g.sinks + head.sequence * a.heads + head.head : nullptr;
  if (sink != nullptr) *sink = 0;
  for (std::int64_t begin = 0; begin < head.Lq; begin += kBlock) {
    const std::int64_t rows = head.Lq - begin < kBlock ? head.Lq - begin : kBlock;
    const std::int64_t lower = head.first_seen(a, begin) / kLanes * kLanes,
                       upper = head.seen(a, begin + rows - 1), columns = Head::round_up(upper),
                       span = upper - lower;
    for (std::int64_t r = 0; r < rows; ++r) {
      copy_row(m.queries + r * Dp, head.query(a, begin + r), D, Dp, a.scale);
      copy_row(m.out_gradient + r * Dp,
               g.out_gradient + (head.first_query + begin + r) * g.out_gradient_stride + head.head * D, D,
               Dp);
    }
    gemm<false>(rows, columns - lower, D, m.queries, Dp, 1, m.keys + lower, Lkp, m.weights + lower, Lkp);
    gemm<false>(rows, columns - lower, D, m.out_gradient, Dp, 1, m.values + lower, Lkp, m.gradients + lower,
                Lkp);
    for (std::int64_t r = 0; r < rows; ++r)
      backward_row(a, g, head, m, begin + r, lower, columns, m.weights + r * Lkp, m.gradients + r * Lkp,
                   sink);
    gemm<true>(span, Dp, rows, m.weights + lower, 1, Lkp, m.out_gradient, Dp, m.value_gradient + lower * Dp,
               Dp);
    gemm<true>(span, Dp, rows, m.gradients + lower, 1, Lkp, m.queries, Dp, m.key_gradient + lower * Dp, Dp);
    gemm<false>(rows, Dp, span, m.gradients + lower, Lkp, 1, m.key_rows + lower * Dp, Dp, m.query_gradient,
                Dp);
    for (std::int64_t r = 0; r < rows; ++r)
      copy_row(g.query_gradient + (head.first_query + begin + r) * g.query_gradient_stride + head.head * D,
               m.query_gradient + r * Dp, D, D, a.scale);
  }
}

// One head of keys and values of one sequence, and the heads of queries that share it.
void backward_key_head(const Attention& a, const AttentionGradient& g, std::int64_t task, float* scratch) {
  const std::int64_t key_heads = Head::key_heads(a), sharing = Head::queries_per_key(a);
  const std::int64_t first_task = task / key_heads * a.heads + task % key_heads * sharing;
  const Head head(a, first_task);
  const BackwardMemory m(a, head, scratch);
  for (std::int64_t i = 0; i < sharing; ++i) backward_queries(a, g, Head(a, first_task + i), m);
  const std::int64_t first = a.keys.key_begin[head.sequence];
  for (std::int64_t j = 0; j < head.Lk; ++j) {
    const std::int64_t at = (first + j) * g.key_gradient_stride + head.key_head * head.D;
    std::memcpy(g.key_gradient + at, m.key_gradient + j * head.Dp, head.D * 4);
    std::memcpy(g.value_gradient + at, m.value_gradient + j * head.Dp, head.D * 4);
  }
}

}  // namespace

std::int64_t attention_scratch(const Attention& a) {
  if (a.bfloat16) return bfloat16_scratch(a);
  std::int64_t longest = 0;
  for (std::int64_t b = 0; b < a.sequences; ++b)
    if (a.keys.key_length[b] > longest) longest = a.keys.key_length[b];
  const std::int64_t Lkp = Head::round_up(longest), Dp = Head::round_up(a.head_size);
  return 5 * Lkp * Dp + (2 * kBlock + 2) * Lkp + 3 * kBlock * Dp;
}

void attention_forward(const Attention& a, std::int64_t begin, std::int64_t end, float* scratch) {
  for (std::int64_t task = begin; task < end; ++task) {
    const Head head(a, task);
    // Heads of queries that share keys are next to each other.
    const bool packed = task > begin && head.head % Head::queries_per_key(a) != 0;
    if (head.Lk > 0) {
      if (head.Lq == 1 && a.dropout == 0)
        decode_head(a, head, scratch);
      else if (a.bfloat16)
        bfloat16_head(a, head, scratch, packed);
      else if (a.keys.int8_pages != nullptr)
        forward_head<Int8Rows>(a, head, scratch, packed);
      else
        forward_head<FloatRows>(a, head, scratch, packed);
      continue;
    }
    for (std::int64_t i = 0; i < head.Lq; ++i)  // nothing to attend to
      std::memset(head.out(a, i), 0, head.D * 4);
  }
}

void attention_backward(const Attention& a, const AttentionGradient& g, std::int64_t begin, std::int64_t end,
                        float* scratch) {
  for (std::int64_t task = begin; task < end; ++task) backward_key_head(a, g, task, scratch);
}

}  // namespace attend::kernels::ATTEND_ISA
