// Attention of sequences with one query, as in decoding. Reading keys and values is the limit: nothing is
// packed, and a row is read once for all heads of queries that share it.
//
// The keys of a sequence are cut into pieces. Each gives sums of values weighted by e^(score - highest), with
// the highest score of the piece alone; join_pieces brings them to the same highest score and divides by the
// sum of all weights (Dao et al. 2023, "Flash-Decoding"; Milakov & Gimelshein 2018, arXiv:1805.02867).
//
// Legend: Lk keys of the sequence; D the head size.
#include "kernels/decode.h"

#include "kernels/attention_scores.h"

#include <cmath>
#include <type_traits>

namespace attend::kernels::ATTEND_ISA {
namespace {

// The sums of a piece for one head are [D] values, the sum of the weights, and the highest score.
constexpr std::int64_t kTotal = 0, kHighest = 1;  // their places after the values

// Some neighbouring heads of keys of one sequence, and the heads of queries that share each.
struct HeadGroup {
  std::int64_t first_task, count, sharing;  // of the first head of queries; heads of keys; queries for each

  std::int64_t queries() const { return count * sharing; }
  // The i-th head of queries.
  Head query(const Attention& a, std::int64_t i) const { return {a, first_task + i}; }
  // The i-th head of keys, as its first head of queries.
  Head key(const Attention& a, std::int64_t i) const { return query(a, i * sharing); }
};

// Rows of keys or values of one head that are read at a time.
constexpr std::int64_t kBlock = 16;

template <class Rows>
struct Block {
  Rows rows;
  Rows later;  // the block after the next, to be fetched row by row while this one is read

  // Into the second level of the cache: the first waits for too few reads at a time. Inlined, because GCC 12
  // drops calls of functions that only prefetch.
  __attribute__((always_inline)) void fetch(std::int64_t r, std::int64_t D) const {
    if (r >= later.count) return;
    const auto* const row = reinterpret_cast<const char*>(later.row(r));
    for (std::int64_t byte = 0; byte < D * std::int64_t{sizeof *later.row(r)}; byte += 64)
      __builtin_prefetch(row + byte, 0, 2);
  }
};

// Calls do_block(block, i, j) for keys or values [begin, end) and the group's heads of keys, in the order of
// the memory: page by page, in it head by head. i: the head; j: the block's first key.
template <class Rows, class Do>
void for_blocks(const Attention& a, const HeadGroup& group, Half half, std::int64_t begin, std::int64_t end,
                Do do_block) {
  const auto rows_at = [&](std::int64_t i, std::int64_t j) {
    if (j >= end) return Rows{};
    Rows rows = group.key(a, i).template rows<Rows>(a, half, j);
    if (rows.count > kBlock) rows.count = kBlock;
    if (rows.count > end - j) rows.count = end - j;
    return rows;
  };
  struct Place {
    std::int64_t i, j;
    Rows rows;
  };
  const auto after = [&](const Place& p) {
    const bool same = p.i + 1 < group.count;
    const std::int64_t i = same ? p.i + 1 : 0, j = same ? p.j : p.j + p.rows.count;
    return Place{i, j, rows_at(i, j)};
  };
  Place now{0, begin, rows_at(0, begin)}, next = after(now);
  while (now.j < end) {
    const Place later = after(next);
    do_block(Block<Rows>{now.rows, later.rows}, now.i, now.j);
    now = next;
    next = later;
  }
}

// A sum over kLanes lanes of each of W rows of `parts`, in the order of LaneSums; one in each lane.
inline Vector row_sums(const float (*parts)[kLanes]) {
  Vector row[W];
#pragma GCC unroll 16
  for (int r = 0; r < W; ++r) {
    Vector part[kParts];
    for (int p = 0; p < kParts; ++p) part[p] = load(parts[r] + p * W);
    for (int half = kParts / 2; half > 0; half /= 2)
      for (int p = 0; p < half; ++p) part[p] += part[p + half];
    row[r] = part[0];
  }
  return sums(row);
}

// The products of G queries [G][D] with a block of keys, times `scale`: [G][kDecodeKeys]. Row by row, which
// is the order of the memory.
template <int G, class Rows>
void multiply(const Block<Rows>& block, const float* query, std::int64_t D, float scale, float* scores) {
  const Rows& rows = block.rows;
  alignas(64) float parts[G][kBlock][kLanes];
  for (std::int64_t r = 0; r < rows.count; ++r) {
    block.fetch(r, D);
    const auto* const key = rows.row(r);
    Vector sum[G][kParts]{};
    for_vectors(D, [&](std::int64_t d, std::int64_t count, int p) {
      const Vector numbers = load_part(key + d, count);
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) sum[g][p] = fused(load_part(query + g * D + d, count), numbers, sum[g][p]);
    });
    for (int g = 0; g < G; ++g)
      for (int p = 0; p < kParts; ++p) store(parts[g][r] + p * W, sum[g][p]);
  }
  for (int g = 0; g < G; ++g)
    for (std::int64_t r = 0; r < rows.count; r += W) {
      const std::int64_t count = rows.count - r < W ? rows.count - r : W;
      for (std::int64_t k = r + count; k < r + W; ++k) std::memset(parts[g][k], 0, sizeof parts[g][k]);
      store_part(scores + g * kDecodeKeys + r, rows.scaled(row_sums(parts[g] + r) * scale, r, count), count);
    }
}

// Calls do_heads(integral_constant G, h) for all of `heads` heads from h = 0 on, G of them at a time.
template <class Do>
void in_groups(std::int64_t heads, Do do_heads) {
  std::int64_t h = 0;
  for (; heads - h >= 4; h += 4) do_heads(std::integral_constant<int, 4>{}, h);
  if (heads - h == 3) do_heads(std::integral_constant<int, 3>{}, h);
  if (heads - h == 2) do_heads(std::integral_constant<int, 2>{}, h);
  if (heads - h == 1) do_heads(std::integral_constant<int, 1>{}, h);
}

// The group's queries [queries][D] times the scale, rounded to bfloat16.
void round_queries(const Attention& a, const HeadGroup& group, float* to) {
  const float* const query = group.query(a, 0).query(a, 0);
  const std::int64_t numbers = group.queries() * a.head_size;
  for (std::int64_t i = 0; i < numbers; i += W) {
    const std::int64_t count = numbers - i < W ? numbers - i : W;
    store_part(to + i, rounded_to_bfloat16(load_part(query + i, count) * a.scale), count);
  }
}

// scores [heads of queries][kDecodeKeys]: of keys [begin, end). The memory after them is for queries.
template <class Rows>
void score(const Attention& a, const HeadGroup& group, std::int64_t begin, std::int64_t end, float* scores) {
  constexpr bool rounds = std::is_same_v<Rows, Bfloat16Rows>;
  float* const rounded = scores + group.queries() * kDecodeKeys;
  if (rounds) round_queries(a, group, rounded);
  const float* const queries = rounds ? rounded : group.query(a, 0).query(a, 0);
  const float scale = rounds ? 1 : a.scale;
  const auto of_block = [&](const Block<Rows>& block, std::int64_t i, std::int64_t j) {
    in_groups(group.sharing, [&](auto heads, std::int64_t h) {
      h += i * group.sharing;
      multiply<heads>(block, queries + h * a.head_size, a.head_size, scale,
                      scores + h * kDecodeKeys + j - begin);
    });
  };
  for_blocks<Rows>(a, group, Half::keys, begin, end, of_block);
}

// Turns `count` scores into weights of `highest`, e^(score - highest), or with `powers` (of bfloat16) of
// WeightUnit, e^score / 2^highest; reads and writes whole vectors, with zeros at the end.
template <bool powers>
void weigh(float* scores, std::int64_t count, float* total, float* highest) {
  *highest = highest_score(scores, 0, count);
  const float subtracted = *highest == -INFINITY ? 0 : *highest;  // no key of this piece is seen
  WeightUnit unit;
  if constexpr (powers) {
    unit.raise(*highest);
    *highest = unit.power;
  }
  const IntVector lane = lane_numbers();
  LaneSums sum;
  for_vectors(Head::round_up(count), [&](std::int64_t j, std::int64_t, int p) {
    const Vector score = load(scores + j);
    Vector e = powers ? rounded_to_bfloat16(unit.weights(score)) : exp(score - subtracted);
    if (j + W > count)
      e = (lane + static_cast<std::int32_t>(j)) < static_cast<std::int32_t>(count) ? e : Vector{};
    sum.part[p] += e;
    store(scores + j, e);
  });
  *total = sum.total();
}

// Adds some values, each times its weight in a row of `weights` for each head, to a row of `sums` for each
// head.
struct WeightedSums {
  const float* weights;  // [heads][kDecodeKeys]
  float* sums;           // [heads][row]
  std::int64_t row;
};

// V vectors from number d on, of `last` lanes in the last one, for G heads; these sums are in registers.
template <int V, int G, class Rows>
void add_values(const Block<Rows>& block, const WeightedSums& m, std::int64_t d, std::int64_t last,
                std::int64_t D) {
  const Rows& rows = block.rows;
  Vector total[G][V];
#pragma GCC unroll 4
  for (int g = 0; g < G; ++g)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) total[g][v] = load_part(m.sums + g * m.row + d + v * W, v + 1 < V ? W : last);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    if (d == 0) block.fetch(r, D);
    const auto* row = rows.row(r) + d;
    Vector value[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) value[v] = load_part(row + v * W, v + 1 < V ? W : last);
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) {
      const Vector weight = splat(rows.scaled(m.weights[g * kDecodeKeys + r], r));
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) total[g][v] = fused(value[v], weight, total[g][v]);
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < G; ++g)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) store_part(m.sums + g * m.row + d + v * W, total[g][v], v + 1 < V ? W : last);
}

template <int G, class Rows>
void add_all_values(const Block<Rows>& block, const WeightedSums& m, std::int64_t D) {
  constexpr int kWide = W == 16 ? 4 : 2;  // AVX2 has half the registers
  const auto last = [&](std::int64_t d, int V) { return D - d - (V - 1) * W < W ? D - d - (V - 1) * W : W; };
  std::int64_t d = 0;
  for (; D - d > (kWide - 1) * W; d += kWide * W) add_values<kWide, G>(block, m, d, last(d, kWide), D);
  if constexpr (kWide > 2)
    for (; D - d > W; d += 2 * W) add_values<2, G>(block, m, d, last(d, 2), D);
  if (d < D) add_values<1, G>(block, m, d, last(d, 1), D);
}

template <class Rows>
void compute_piece(const Attention& a, const HeadGroup& group, std::int64_t begin, std::int64_t end,
                   float* sums, float* scores) {
  const std::int64_t D = a.head_size, width = D + kDecodeExtra;
  score<Rows>(a, group, begin, end, scores);
  for (std::int64_t h = 0; h < group.queries(); ++h) {
    const Head head = group.query(a, h);
    float* const row = scores + h * kDecodeKeys;
    float* const values = sums + h * width;
    Head::cap(a, row, end - begin);
    head.add_terms(a, 0, row, begin, end);
    weigh<std::is_same_v<Rows, Bfloat16Rows>>(row, end - begin, values + D + kTotal, values + D + kHighest);
    std::memset(values, 0, static_cast<std::size_t>(D) * 4);
    if (a.probabilities)
      std::memcpy(a.probabilities[head.sequence] + head.head * head.Lk + begin, row,
                  static_cast<std::size_t>(end - begin) * 4);
  }
  const auto of_block = [&](const Block<Rows>& block, std::int64_t i, std::int64_t j) {
    in_groups(group.sharing, [&](auto heads, std::int64_t h) {
      h += i * group.sharing;
      add_all_values<heads>(block, {scores + h * kDecodeKeys + j - begin, sums + h * width, width}, D);
    });
  };
  for_blocks<Rows>(a, group, Half::values, begin, end, of_block);
}

void compute(const Attention& a, const HeadGroup& group, std::int64_t begin, std::int64_t end, float* sums,
             float* scores) {
  if (a.keys.bfloat16_pages != nullptr)
    compute_piece<Bfloat16Rows>(a, group, begin, end, sums, scores);
  else if (a.keys.int8_pages != nullptr)
    compute_piece<Int8Rows>(a, group, begin, end, sums, scores);
  else
    compute_piece<FloatRows>(a, group, begin, end, sums, scores);
}

}  // namespace

std::int64_t decode_scratch(const Attention& a) {
  return a.heads * (kDecodeKeys + a.head_size);
}

void decode(const Attention& a, const DecodePiece* pieces, std::int64_t count, float* scratch) {
  const std::int64_t sharing = Head::queries_per_key(a), width = a.head_size + kDecodeExtra;
  for (std::int64_t i = 0; i < count; ++i) {
    const DecodePiece& p = pieces[i];
    const HeadGroup group{p.sequence * a.heads + p.first_head * sharing, p.heads, sharing};
    compute(a, group, p.begin, p.end, p.sums, scratch);
    const Head head = group.key(a, 0);
    if (p.begin != head.first_seen(a, 0) || p.end != head.Lk) continue;
    for (std::int64_t h = 0; h < group.queries(); ++h)  // the only piece
      join_pieces(a, group.first_task + h, p.sums + h * width, 0, 1);
  }
}

void join_pieces(const Attention& a, std::int64_t task, const float* sums, std::int64_t step,
                 std::int64_t pieces) {
  const Head head(a, task);
  const std::int64_t D = head.D, first = head.first_seen(a, 0);
  if (pieces == 0) {  // nothing to attend to
    std::memset(head.out(a, 0), 0, static_cast<std::size_t>(D) * 4);
    return;
  }
  const bool powers = a.keys.bfloat16_pages != nullptr;  // as weigh() does
  const float* const sink = head.sink(a);
  float highest = sink == nullptr ? -INFINITY : powers ? __builtin_ceilf(*sink * kLog2OfE) : *sink;
  for (std::int64_t p = 0; p < pieces; ++p)
    if (const float own = sums[p * step + D + kHighest]; own > highest) highest = own;
  const auto factor = [&](std::int64_t p) {
    const float below = sums[p * step + D + kHighest] - highest;
    return powers ? power_of_two(below) : exp(splat(below))[0];
  };
  float total = 0;
  for (std::int64_t p = 0; p < pieces; ++p) total += sums[p * step + D + kTotal] * factor(p);
  const float inverse = 1 / (total + sink_share(sink, powers ? highest / kLog2OfE : highest));
  float* const out = head.out(a, 0);
  for (std::int64_t d = 0; d < D; d += W) {
    const std::int64_t count = D - d < W ? D - d : W;
    Vector sum{};
    for (std::int64_t p = 0; p < pieces; ++p)
      sum = fused(load_part(sums + p * step + d, count), splat(factor(p)), sum);
    store_part(out + d, sum * inverse, count);
  }
  if (a.probabilities == nullptr) return;
  float* const weights = a.probabilities[head.sequence] + head.head * head.Lk;
  for (std::int64_t j = 0; j < first; ++j) weights[j] = 0;
  std::int64_t begin = first;
  for (std::int64_t p = 0; p < pieces; ++p) {
    const std::int64_t end = decode_end(begin, head.Lk);
    const float scale = factor(p) * inverse;
    for (; begin < end; ++begin) weights[begin] *= scale;
  }
}

void decode_head(const Attention& a, const Head& head, float* scratch) {
  const std::int64_t task = head.sequence * a.heads + head.head, width = head.D + kDecodeExtra;
  float* const sums = scratch + decode_scratch(a) / a.heads;
  std::int64_t pieces = 0;
  for (std::int64_t begin = head.first_seen(a, 0), end = 0; begin < head.Lk; begin = end, ++pieces) {
    end = decode_end(begin, head.Lk);
    compute(a, {task, 1, 1}, begin, end, sums + pieces * width, scratch);
  }
  join_pieces(a, task, sums, width, pieces);
}

}  // namespace attend::kernels::ATTEND_ISA
