// Attention of several queries with factors in bfloat16: twice as many multiply-adds in an instruction, and
// half the memory of packed keys and values.
//
// A block of queries reads its keys in pieces that stay in the processor's second-level cache, however long
// the text is; the weights of earlier pieces change their unit when a larger score comes (Milakov &
// Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135). Sums go over keys in one order, so a
// row's result does not depend on blocks and pieces.
//
// Legend: as in attention.simd.cpp. Factors are pairs (pairs.h): keys and queries of neighbours along D,
// weights and values of neighbours among the keys. Matrices on the right are packed in panels of kColumns
// columns.
#include "kernels/attention_bfloat16.h"

#include "kernels/attention_scores.h"
#include "kernels/gemm.h"

#include <cmath>
#include <utility>

namespace attend::kernels::ATTEND_ISA {
namespace {

constexpr std::int64_t kBlock = 32;   // queries at a time
constexpr std::int64_t kPiece = 512;  // keys at a time
constexpr std::int64_t kColumns = 2 * W;
constexpr std::int64_t kGrain = 32;  // keys of a vector of pairs in the widest set: pieces begin at multiples
static_assert(kPiece % kGrain == 0 && kGrain % kColumns == 0 && kGrain == 2 * kLanes);

std::int64_t whole(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// `count` neighbours of a row as W pairs; zeros after them.
PairVector pairs_of_row(const float* row, std::int64_t count) {
  if (count >= 2 * W) return pairs_of_neighbours(load(row), load(row + W));
  const Vector first = load_part(row, count < W ? count : W),
               second = count > W ? load_part(row + W, count - W) : Vector{};
  return pairs_of_neighbours(first, second);
}
PairVector pairs_of_row(const Bfloat16* row, std::int64_t count) {
  PairVector pairs{};
  std::memcpy(&pairs, row, static_cast<std::size_t>(count < 2 * W ? count : 2 * W) * 2);
  return pairs;
}

// The pairs of `count` numbers of two rows; null: zeros.
PairVector pairs_of_rows(const float* low, const float* high, std::int64_t count) {
  return pairs_of(low ? load_part(low, count) : Vector{}, high ? load_part(high, count) : Vector{});
}
PairVector pairs_of_rows(const Bfloat16* low, const Bfloat16* high, std::int64_t count) {
  const auto upper = [&](const Bfloat16* p) {
    return p ? reinterpret_cast<PairVector>(load_part(p, count)) : PairVector{};
  };
  return upper(low) >> 16 | upper(high);
}

// C [rows, columns] (+)= A [rows, depth] * B, of `depth` pairs. B: the panel of column 0 and those after it,
// `panel` pairs apart.
template <bool accumulate>
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t depth, const Pair* a, std::int64_t a_row,
              const Pair* b, std::int64_t panel, float* c, std::int64_t c_row) {
  for (std::int64_t j = 0; j < columns; j += kColumns, b += panel) {
    const std::int64_t width = columns - j < kColumns ? columns - j : kColumns;
    std::int64_t i = 0;
    for (; i + kTileRows <= rows; i += kTileRows)
      gemm_rows<kTileRows, accumulate>(width, depth, a + i * a_row, a_row, 1, b, kColumns, c + i * c_row + j,
                                       c_row);
    gemm_last_rows<kTileRows - 1, accumulate>(rows - i, width, depth, a + i * a_row, a_row, 1, b, kColumns,
                                              c + i * c_row + j, c_row);
  }
}

template <class Rows>
class Bfloat16Head {
 public:
  Bfloat16Head(const Attention& call, const Head& head, float* scratch)
      : a_(call), head_(head), depth_(whole(head.D, kColumns) / 2), keys_(whole(head.Lk, kGrain)) {
    const auto take = [&](std::int64_t count) { return std::exchange(scratch, scratch + count); };
    const auto take_pairs = [&](std::int64_t count) { return reinterpret_cast<Pair*>(take(count)); };
    packed_keys_ = take_pairs(keys_ * depth_);
    packed_values_ = take_pairs(keys_ / 2 * whole(head.D, kColumns));
    scores_ = take(kBlock * kPiece);
    weights_ = take_pairs(kBlock * kPiece / 2);
    queries_ = take_pairs(kBlock * depth_);
    sums_ = take(kBlock * head.Dp);
    totals_ = take(kBlock * kLanes);
  }
  static std::int64_t scratch(std::int64_t longest, std::int64_t size) {
    const std::int64_t D = whole(size, kColumns), keys = whole(longest, kGrain);
    return keys * D + kBlock * (kPiece * 3 / 2 + D / 2 + Head::round_up(size) + kLanes);
  }

  void pack() {
    pack_keys();
    pack_values();
  }

  void attend() {
    for (std::int64_t begin = 0; begin < head_.Lq; begin += kBlock)
      attend(begin, head_.Lq - begin < kBlock ? head_.Lq - begin : kBlock);
  }

 private:
  // Keys before the first that a query sees may be in pages that were given back, which hold anything.
  bool holds(std::int64_t j) const { return j >= head_.first_seen(a_, 0) && j < head_.Lk; }
  auto row(Half half, std::int64_t j) const { return head_.rows<Rows>(a_, half, j).first; }

  // Panels [depth_][kColumns] of keys.
  void pack_keys() {
    alignas(64) float tile[W * W];
    for (std::int64_t j = 0; j < keys_; j += W)
      for (std::int64_t p = 0; p < depth_; p += W) {
        for (std::int64_t r = 0; r < W; ++r) {
          const std::int64_t rest = head_.D - 2 * p;
          const PairVector pairs =
              holds(j + r) && rest > 0 ? pairs_of_row(row(Half::keys, j + r) + 2 * p, rest) : PairVector{};
          std::memcpy(tile + r * W, &pairs, sizeof pairs);
        }
        Pair* const to = packed_keys_ + (j / kColumns * depth_ + p) * kColumns + j % kColumns;
        transpose_tile(reinterpret_cast<float*>(to), kColumns, tile, W);
      }
  }

  // Panels [keys_ / 2][kColumns] of the numbers of a value.
  void pack_values() {
    for (std::int64_t j = 0; j < keys_; j += 2) {
      const auto low = holds(j) ? row(Half::values, j) : nullptr;
      const auto high = holds(j + 1) ? row(Half::values, j + 1) : nullptr;
      for (std::int64_t d = 0; d < whole(head_.D, kColumns); d += W) {
        const std::int64_t rest = head_.D - d;
        const PairVector pairs =
            rest > 0 ? pairs_of_rows(low ? low + d : nullptr, high ? high + d : nullptr, rest < W ? rest : W)
                     : PairVector{};
        Pair* const to = packed_values_ + (d / kColumns * keys_ + j) / 2 * kColumns + d % kColumns;
        std::memcpy(to, &pairs, sizeof pairs);
      }
    }
  }

  void attend(std::int64_t begin, std::int64_t rows) {
    WeightUnit units[kBlock];
    read_queries(begin, rows);
    std::memset(sums_, 0, static_cast<std::size_t>(rows * head_.Dp) * 4);
    std::memset(totals_, 0, static_cast<std::size_t>(rows * kLanes) * 4);
    const std::int64_t first = head_.first_seen(a_, begin) / kGrain * kGrain,
                       last = head_.seen(a_, begin + rows - 1);
    for (std::int64_t piece = first; piece < last; piece += kPiece) {
      const std::int64_t end = last - piece < kPiece ? last : piece + kPiece;
      score(rows, piece, end);
      for (std::int64_t r = 0; r < rows; ++r) weigh(begin, r, piece, end, units[r]);
      multiply<true>(rows, head_.Dp, whole(end - piece, kGrain) / 2, weights_, kPiece / 2,
                     packed_values_ + piece / 2 * kColumns, keys_ / 2 * kColumns, sums_, head_.Dp);
    }
    float inverses[kBlock];
    for (std::int64_t r = 0; r < rows; ++r) {
      const float inverse = inverses[r] = 1 / total(r, units[r]);
      for (std::int64_t d = 0; d < head_.D; d += W) {
        const std::int64_t count = head_.D - d < W ? head_.D - d : W;
        store_part(head_.out(a_, begin + r) + d, load(sums_ + r * head_.Dp + d) * inverse, count);
      }
    }
    if (a_.probabilities != nullptr) save_probabilities(begin, rows, units, inverses);
  }

  void read_queries(std::int64_t begin, std::int64_t rows) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* const query = head_.query(a_, begin + r);
      alignas(64) float scaled[2 * W];
      for (std::int64_t p = 0; p < depth_; p += W) {
        for (std::int64_t d = 0; d < 2 * W; ++d)
          scaled[d] = 2 * p + d < head_.D ? query[2 * p + d] * a_.scale : 0;
        const PairVector pairs = pairs_of_row(scaled, 2 * W);
        std::memcpy(queries_ + r * depth_ + p, &pairs, sizeof pairs);
      }
    }
  }

  // scores_ [rows, kPiece] of keys [piece, end).
  void score(std::int64_t rows, std::int64_t piece, std::int64_t end) {
    multiply<false>(rows, whole(end - piece, kColumns), depth_, queries_, depth_,
                    packed_keys_ + piece * depth_, depth_ * kColumns, scores_, kPiece);
  }

  // The keys of a piece that row i sees, counted from the piece's first key.
  std::pair<std::int64_t, std::int64_t> seen(std::int64_t i, std::int64_t piece, std::int64_t end) const {
    const std::int64_t first = head_.first_seen(a_, i) - piece,
                       last = head_.seen(a_, i) < end ? head_.seen(a_, i) - piece : end - piece;
    return {first > 0 ? first : 0, last};
  }
  // Completes the scores of query `begin + r`.
  float* finish_scores(std::int64_t begin, std::int64_t r, std::int64_t piece, std::int64_t first,
                       std::int64_t last) {
    float* const row = scores_ + r * kPiece;
    Head::cap(a_, row + first, last - first);
    head_.add_terms(a_, begin + r, row + first, piece + first, piece + last);
    return row;
  }

  // Turns scores into weights [kPiece / 2], and adds them to the row's total.
  void weigh(std::int64_t begin, std::int64_t r, std::int64_t piece, std::int64_t end, WeightUnit& unit) {
    Pair* const to = weights_ + r * kPiece / 2;
    const std::int64_t count = whole(end - piece, kGrain);
    const auto [first, last] = seen(begin + r, piece, end);
    if (last <= first) {
      std::memset(to, 0, static_cast<std::size_t>(count / 2) * 4);
      return;
    }
    float* const row = finish_scores(begin, r, piece, first, last);
    change_unit(r, unit.raise(highest_score(row, first, last)));
    for (std::int64_t j = whole(last, W); j < count; j += W) store(row + j, splat(-INFINITY));
    if (last % W != 0) {
      const std::int64_t j = last / W * W;
      store(row + j, first_lanes(load(row + j), last - j, splat(-INFINITY)));
    }
    const PairVector ones = pairs_of(splat(1), splat(1));
    float* const total = totals_ + r * kLanes;
    for (std::int64_t j = 0; j < count; j += 2 * W) {
      const PairVector pairs =
          pairs_of_neighbours(unit.weights(load(row + j)), unit.weights(load(row + j + W)));
      std::memcpy(to + j / 2, &pairs, sizeof pairs);
      float* const part = total + j / 2 % kLanes;
      store(part, fused(pairs, ones, load(part)));
    }
  }

  void change_unit(std::int64_t r, float factor) {
    if (factor == 1) return;
    for (std::int64_t d = 0; d < head_.Dp; d += W)
      store(sums_ + r * head_.Dp + d, load(sums_ + r * head_.Dp + d) * factor);
    for (std::int64_t d = 0; d < kLanes; d += W)
      store(totals_ + r * kLanes + d, load(totals_ + r * kLanes + d) * factor);
  }

  // The sum of the row's weights.
  float total(std::int64_t r, WeightUnit& unit) {
    if (const float* const sink = head_.sink(a_)) {
      change_unit(r, unit.raise(*sink));
      return lanes(r) + unit.weights(splat(*sink))[0];
    }
    return lanes(r);
  }
  float lanes(std::int64_t r) const {
    LaneSums sums;
    for (int p = 0; p < kParts; ++p) sums.part[p] = load(totals_ + r * kLanes + p * W);
    return sums.total();
  }

  // Computes the scores again: their units are known only at the end.
  void save_probabilities(std::int64_t begin, std::int64_t rows, const WeightUnit* units,
                          const float* inverses) {
    for (std::int64_t piece = 0; piece < head_.Lk; piece += kPiece) {
      const std::int64_t end = head_.Lk - piece < kPiece ? head_.Lk : piece + kPiece;
      score(rows, piece, end);
      for (std::int64_t r = 0; r < rows; ++r) {
        float* const to =
            a_.probabilities[head_.sequence] + (head_.head * head_.Lq + begin + r) * head_.Lk + piece;
        std::memset(to, 0, static_cast<std::size_t>(end - piece) * 4);
        const auto [first, last] = seen(begin + r, piece, end);
        if (last <= first) continue;
        const float* const row = finish_scores(begin, r, piece, first, last);
        for (std::int64_t j = first; j < last; j += W) {
          const std::int64_t count = last - j < W ? last - j : W;
          const Vector weights = rounded_to_bfloat16(units[r].weights(load_part(row + j, count)));
          store_part(to + j, weights * inverses[r], count);
        }
      }
    }
  }

  const Attention& a_;
  const Head& head_;
  std::int64_t depth_, keys_;  // pairs of a key; Lk rounded up to whole vectors of pairs
  Pair *packed_keys_, *packed_values_;
  float* scores_;  // [kBlock, kPiece]
  Pair* weights_;  // [kBlock, kPiece / 2]
  Pair* queries_;  // [kBlock, depth_]
  float* sums_;    // [kBlock, Dp]
  float* totals_;  // [kBlock, kLanes]: sums of weights
};

template <class Rows>
void compute(const Attention& a, const Head& head, float* scratch, bool packed) {
  Bfloat16Head<Rows> work(a, head, scratch);
  if (!packed) work.pack();
  work.attend();
}

}  // namespace

std::int64_t bfloat16_scratch(const Attention& a) {
  std::int64_t longest = 0;
  for (std::int64_t b = 0; b < a.sequences; ++b)
    if (a.keys.key_length[b] > longest) longest = a.keys.key_length[b];
  return Bfloat16Head<FloatRows>::scratch(longest, a.head_size);
}

void bfloat16_head(const Attention& a, const Head& head, float* scratch, bool packed) {
  if (a.keys.bfloat16_pages != nullptr)
    compute<Bfloat16Rows>(a, head, scratch, packed);
  else
    compute<FloatRows>(a, head, scratch, packed);
}

}  // namespace attend::kernels::ATTEND_ISA
