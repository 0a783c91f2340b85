// Integer attention: both products of a head in 8 and 16 bits, for texts that are encoded in one call.
//
// Queries, keys and values are rounded to 8 bits row by row, like the left factors of int8.h. Softmax uses
// floats. A key's weight times its value's scale is rounded to w = 0 ... 32767 of the query's sum of weights,
// so that the sums of w times value fit 32 bits for any number of keys. Integer sums are exact, and float
// sums use 16 lanes in every instruction set, so a row of the result depends only on its query, the keys and
// the values.
#pragma once

#include "kernels/attention_head.h"
#include "kernels/int8/tile.h"

#include <cmath>

namespace attend::kernels::ATTEND_ISA {

// Adds the products of two 16-bit numbers in each lane.
inline IntVector add_pairs(IntVector sum, IntVector a, IntVector b) {
#if defined(__AVX512VNNI__)
  return (IntVector)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return sum + (IntVector)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
  return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}

// The larger of two numbers, neither below 0, compared as bits.
inline Vector larger_bits(Vector a, Vector b) {
  return reinterpret_cast<Vector>(max(reinterpret_cast<IntVector>(b), reinterpret_cast<IntVector>(a)));
}

// The scales of W rows of D numbers, one row in each lane, like quantize() in tile.h. at(i) is row i, or null
// if there is none.
template <class At>
struct RowScales {
  const float* row[W];
  std::int64_t D;
  Vector scale, factor;  // the factor is 0 for rows that are too small or infinite

  RowScales(At at, std::int64_t count) : D(count) {
    Vector maxima[W];
    for (int i = 0; i < W; ++i) {
      row[i] = at(i);
      IntVector largest{};
      for (std::int64_t d = 0; row[i] != nullptr && d < D; d += W) {
        largest = max(reinterpret_cast<IntVector>(part(i, d)) & 0x7fffffff, largest);
      }
      maxima[i] = reinterpret_cast<Vector>(largest);
    }
    const Vector largest = combine_rows<W / 2>(maxima, larger_bits, std::make_integer_sequence<int, W>{});
    const auto bits = reinterpret_cast<IntVector>(largest);
    const IntVector infinite = bits >= 0x7f800000, none = infinite | (largest < 1e-30f);
    scale = infinite ? splat(__builtin_nanf("")) : none ? Vector{} : largest / 127.0f;
    factor = none ? Vector{} : 127.0f / largest;
  }

  Vector part(int i, std::int64_t d) const { return load_part(row[i] + d, D - d < W ? D - d : W); }
  // Rounds W numbers, one row in each lane.
  IntVector rounded(Vector x) const { return round(factor > 0 ? x * factor : Vector{}); }
  // Numbers d ... d + W - 1 of row i.
  IntVector bytes(int i, std::int64_t d) const {
    const float f = factor[i];
    return row[i] != nullptr && d < D && f > 0 ? round(part(i, d) * f) : IntVector{};
  }
};

// One head of one sequence: D numbers a row, Lk keys; D16 and K16 are these rounded up to whole panels.
class IntegerHead {
 public:
  static std::int64_t whole_panels(std::int64_t n) { return int8_panels(n) * kInt8Panel; }
  // `packed`: the scratch already holds this head's keys and values.
  IntegerHead(const Attention& call, const Head& head, std::uint8_t* scratch, bool packed)
      : a_(call),
        head_(head),
        D_(head.D),
        D16_(whole_panels(D_)),
        K16_(whole_panels(head.Lk)),
        fours_((D_ + 3) / 4),
        scores_(reinterpret_cast<float*>(scratch)),
        key_scales_(scores_ + kInt8Queries * K16_),
        value_scales_(key_scales_ + K16_),
        key_sums_(reinterpret_cast<std::int32_t*>(value_scales_ + K16_)),
        values_(key_sums_ + K16_),
        weights_(reinterpret_cast<std::int16_t*>(values_ + K16_ / 2 * D16_)),
        keys_(reinterpret_cast<std::int8_t*>(weights_ + kInt8Queries * K16_)),
        queries_(reinterpret_cast<std::uint8_t*>(keys_ + K16_ * fours_ * 4)) {
    if (!packed) pack();
  }

  void attend() const {
    for (std::int64_t begin = 0; begin < head_.Lq; begin += kInt8Queries)
      attend(begin, head_.Lq - begin < kInt8Queries ? head_.Lq - begin : kInt8Queries);
  }

 private:
  // Packs keys like a matrix of int8.h, one key per column, and values in pairs of neighbouring keys.
  void pack() const {
    for (std::int64_t j = 0; j < K16_; j += W) {
      const auto key = [&](std::int64_t i) { return j + i < head_.Lk ? head_.key(a_, j + i) : nullptr; };
      const RowScales<decltype(key)> scales(key, D_);
      store(key_scales_ + j, scales.scale);
      std::int8_t* const to = keys_ + (j / kInt8Panel * fours_ * kInt8Panel + j % kInt8Panel) * 4;
      IntVector sum{};
      for (std::int64_t d = 0; d < D_; d += W) {
        Vector column[W];  // the numbers from d on of each key, one key in each lane
#pragma GCC unroll 16
        for (int i = 0; i < W; ++i) column[i] = scales.row[i] ? scales.part(i, d) : Vector{};
        swap_blocks<W / 2>(column, std::make_integer_sequence<int, W>{});
#pragma GCC unroll 4
        for (int k = 0; k < W / 4; ++k) {
          if (d + k * 4 >= fours_ * 4) break;
          IntVector four{};
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) {
            const IntVector q = scales.rounded(column[k * 4 + i]);
            sum += q;
            four |= (q & 255) << (8 * i);
          }
          std::memcpy(to + (d / 4 + k) * kInt8Panel * 4, &four, sizeof four);
        }
      }
      std::memcpy(key_sums_ + j, &sum, sizeof sum);
    }
    for (std::int64_t j = 0; j < K16_; j += W) {
      const auto value = [&](std::int64_t i) { return j + i < head_.Lk ? head_.value(a_, j + i) : nullptr; };
      const RowScales<decltype(value)> scales(value, D_);
      store(value_scales_ + j, scales.scale);
      for (int i = 0; i < W; i += 2)
        for (std::int64_t d = 0; d < D16_; d += W) {
          const IntVector pair = (scales.bytes(i, d) & 0xffff) | (scales.bytes(i + 1, d) << 16);
          std::memcpy(values_ + (j + i) / 2 * D16_ + d, &pair, sizeof pair);
        }
    }
  }

  void attend(std::int64_t begin, std::int64_t rows) const {
    const std::int64_t stride = int8_stride(D_);
    float scales[kInt8Queries], back[kInt8Queries];
    for (std::int64_t r = 0; r < rows; r += W) {
      const auto query = [&](std::int64_t i) {
        return r + i < rows ? head_.query(a_, begin + r + i) : nullptr;
      };
      const RowScales<decltype(query)> found(query, D_);
      store(scales + r, found.scale * a_.scale);
      for (int i = 0; i < W && r + i < rows; ++i)
        for (std::int64_t d = 0; d < D_; d += W)
          store_bytes(queries_ + (r + i) * stride + d, found.bytes(i, d), kOffset);
    }
    Int8Product product;
    product.columns = K16_;
    product.y = scores_;
    product.y_row = K16_;
    const Factors f{queries_, stride, scales, 0, keys_, fours_, key_scales_, key_sums_, 0};
    std::int64_t panel = 0;
    for (; panel + kTilePanels <= K16_ / kInt8Panel; panel += kTilePanels)
      rows_by_panels<kTilePanels>(product, f, rows, panel);
    for (; panel < K16_ / kInt8Panel; ++panel) rows_by_panels<1>(product, f, rows, panel);
    for (std::int64_t r = 0; r < rows; ++r)
      back[r] = weigh(begin + r, scores_ + r * K16_, weights_ + r * K16_);
    std::int64_t r = 0;
    for (; r + kTileRows <= rows; r += kTileRows) add_values<kTileRows>(begin, r, back);
    for (; r < rows; ++r) add_values<1>(begin, r, back);
  }

  // Turns a row of scores into weights of 16 bits. Returns the factor for sums of weights times values.
  float weigh(std::int64_t i, float* scores, std::int16_t* weights) const {
    const auto first = static_cast<std::int32_t>(head_.first_seen(a_, i)),
               seen = static_cast<std::int32_t>(head_.seen(a_, i));
    Head::cap(a_, scores + first, seen - first);
    head_.add_terms(a_, i, scores + first, first, seen);
    // Vectors of scores whose keys are all visible need no mask.
    const IntVector lane = lane_numbers();
    const auto visible = [&](std::int64_t j, Vector x, Vector hidden) {
      if (j >= first && j + W <= seen) return x;
      const IntVector key = lane + static_cast<std::int32_t>(j);
      return (key >= first) & (key < seen) ? x : hidden;
    };
    Vector top = splat(-INFINITY);
    for (std::int64_t j = 0; j < K16_; j += W) top = max(visible(j, load(scores + j), splat(-INFINITY)), top);
    const float highest = largest(top);
    LaneSums all, with_scales;
    for_vectors(K16_, [&](std::int64_t j, std::int64_t, int p) {
      const Vector e = visible(j, fitted_exp(load(scores + j) - highest), Vector{});
      const Vector scaled = e * load(value_scales_ + j);
      all.part[p] += e;
      with_scales.part[p] += scaled;
      store(scores + j, a_.probabilities ? e : scaled);
    });
    const float total = all.total(), scaled_total = with_scales.total();
    const float factor = scaled_total > 0 ? 32767.0f / scaled_total : 0.0f;
    if (a_.probabilities) save(i, scores, total);
    for (std::int64_t j = 0; j < K16_; j += W) {
      Vector scaled = load(scores + j);
      if (a_.probabilities) scaled *= load(value_scales_ + j);
      typedef std::int16_t Narrow __attribute__((vector_size(W * 2)));
      // After adding the large number, the lower bits hold the integer.
      const Vector placed = fused(scaled, splat(factor), splat(12582912.0f));
      const Narrow narrow = __builtin_convertvector(reinterpret_cast<IntVector>(placed), Narrow);
      std::memcpy(weights + j, &narrow, sizeof narrow);
    }
    return scaled_total / (32767.0f * total);
  }

  void save(std::int64_t i, const float* e, float total) const {
    float* to = a_.probabilities[head_.sequence] + (head_.head * head_.Lq + i) * head_.Lk;
    for (std::int64_t j = 0; j < head_.Lk; ++j) to[j] = e[j] / total;
  }

  // Writes the results of R queries, from row r of the block that begins at `begin`.
  template <int R>
  void add_values(std::int64_t begin, std::int64_t r, const float* back) const {
    std::int64_t d = 0;
    for (; d + kInt8Panel < D_; d += 2 * kInt8Panel) add_columns<R, 2>(begin, r, back, d);
    if (d < D_) add_columns<R, 1>(begin, r, back, d);
  }
  template <int R, int V>
  void add_columns(std::int64_t begin, std::int64_t r, const float* back, std::int64_t d) const {
    constexpr int kVectors = V * kPerPanel;
    IntVector sum[R][kVectors]{};
    const std::int32_t* value = values_ + d;
    const std::int16_t* weight = weights_ + r * K16_;
    for (std::int64_t j = 0; j < K16_; j += 2, value += D16_) {
      IntVector pair[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) pair[v] = load_ints(value + v * W);
#pragma GCC unroll 8
      for (int row = 0; row < R; ++row) {
        std::int32_t two;
        std::memcpy(&two, weight + row * K16_ + j, 4);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sum[row][v] = add_pairs(sum[row][v], two - IntVector{}, pair[v]);
      }
    }
#pragma GCC unroll 8
    for (int row = 0; row < R; ++row)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const std::int64_t rest = D_ - d - v * W;
        if (rest <= 0) break;
        store_part(head_.out(a_, begin + r + row) + d + v * W,
                   __builtin_convertvector(sum[row][v], Vector) * back[r + row], rest < W ? rest : W);
      }
  }

  const Attention& a_;
  const Head& head_;
  const std::int64_t D_, D16_, K16_, fours_;
  float* const scores_;           // [kInt8Queries, K16]
  float* const key_scales_;       // [K16]
  float* const value_scales_;     // [K16]
  std::int32_t* const key_sums_;  // [K16]
  std::int32_t* const values_;    // [K16 / 2, D16], each two 16-bit values
  std::int16_t* const weights_;   // [kInt8Queries, K16]
  std::int8_t* const keys_;       // [K16 / 16, D in fours, 16, 4]
  std::uint8_t* const queries_;   // [kInt8Queries, int8_stride]
};

inline void integer_attention(const Attention& a, std::int64_t begin, std::int64_t end,
                              std::uint8_t* scratch) {
  for (std::int64_t task = begin; task < end; ++task) {
    const Head head(a, task);
    if (head.Lk > 0) {
      const bool packed = task > begin && head.head % Head::queries_per_key(a) != 0;
      IntegerHead(a, head, scratch, packed).attend();
      continue;
    }
    for (std::int64_t i = 0; i < head.Lq; ++i)  // nothing to attend to
      std::memset(head.out(a, i), 0, static_cast<std::size_t>(head.D) * 4);
  }
}

}  // namespace attend::kernels::ATTEND_ISA
