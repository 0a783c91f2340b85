#include "kernels/int8/block_products.h"
#include "kernels/int8/tile.h"

#include <type_traits>

namespace attend::kernels::ATTEND_ISA {
namespace {

constexpr int kRows = W == 16 ? 8 : 2;  // of a tile
constexpr std::int64_t kPanelFour = kInt8Panel * 4;

// sum + the products of four bytes in each lane: integers n, and signed numbers of a row. Where the
// instruction multiplies unsigned by signed bytes, n is the unsigned one.
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
constexpr bool kUnsigned = true;
inline IntVector add_numbers(IntVector sum, IntVector n, const Left& x) {
  return dot_products(sum, n, x.bytes);
}
#else
constexpr bool kUnsigned = false;
inline IntVector add_numbers(IntVector sum, IntVector n, const Left& x) {
  return add_products(sum, x, n);
}
#endif

// W numbers of float16, without infinities, as float32.
inline Vector load_scales(const std::uint8_t* p) {
#if defined(__AVX512F__)
  return (Vector)_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256((const __m256i*)p));
#else
  std::uint16_t halves[W];
  std::memcpy(halves, p, sizeof halves);
  const IntVector bits = load_wide(halves), sign = (bits & 0x8000) << 16;
  return reinterpret_cast<Vector>((bits & 0x7fff) << 13 | sign) * 0x1p112f;
#endif
}

// The rows of a tile by groups. All rows are at constant distances, so that a tile needs few pointers.
struct BlockRows {
  std::int64_t groups;
  std::int8_t* bytes;   // [groups][kRows][32]
  float* steps;         // [groups][kRows]
  std::int32_t* first;  // [groups][halves][kRows]: what the sums of products begin with, -zero * sum of q
  float* sums;          // [groups][halves][kRows]: of the numbers themselves, step * sum of q

  BlockRows tile(std::int64_t i) const {
    const std::int64_t at = i * groups * kRows;
    return {groups, bytes + at * kBlockGroup, steps + at, first + at * 2, sums + at * 2};
  }
};

// Quantizes a group, as quantize does. `to_sums`: of the integers of each half, or of all.
inline float quantize_group(std::int8_t* to, const float* x, std::int64_t halves,
                            std::int32_t (&to_sums)[2]) {
  constexpr int kVectors = kBlockGroup / W;
  IntVector bits{};
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) bits = max(load_ints(x + i * W) & 0x7fffffff, bits);
  const Rounding by(largest(bits));
  if (by.factor == 0) {
    std::memset(to, 0, kBlockGroup);
    to_sums[0] = to_sums[1] = 0;
    return by.step;
  }
  IntVector sums[2]{};
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) {
    const IntVector q = round(load(x + i * W) * by.factor);
    store_bytes(reinterpret_cast<std::uint8_t*>(to) + i * W, q, 0);
    sums[i * 2 / kVectors] += q;
  }
  to_sums[0] = sum(halves == 2 ? sums[0] : sums[0] + sums[1]);
  if (halves == 2) to_sums[1] = sum(sums[1]);
  return by.step;
}

// Row r of a tile.
inline void quantize_row(const BlockRows& to, std::int64_t r, const float* x, std::int64_t halves,
                         std::int32_t zero) {
  for (std::int64_t g = 0; g < to.groups; ++g) {
    const std::int64_t at = g * kRows + r;
    std::int32_t sums[2] = {};
    const float step = quantize_group(to.bytes + at * kBlockGroup, x + g * kBlockGroup, halves, sums);
    to.steps[at] = step;
    for (std::int64_t h = 0; h < halves; ++h) {
      const std::int64_t half = (g * halves + h) * kRows + r;
      to.first[half] = -zero * sums[h];
      to.sums[half] = step * static_cast<float>(sums[h]);
    }
  }
}

// What a tile needs to know of a matrix at compile time.
template <int bits, bool starts, bool halves>
struct Layout {
  static constexpr int kBits = bits;
  static constexpr bool kStarts = starts;
  static constexpr int kHalves = halves ? 2 : 1;
  static constexpr std::int64_t kStartsAt = kHalves * 2 * kInt8Panel,
                                kNumbersAt = kStartsAt * (starts ? 2 : 1),
                                kBytes = kNumbersAt + kBlockGroup * kInt8Panel * bits / 8;
};

// Whether numbers become signed by a flip of their highest bit, so that they need no zero.
inline bool flips_numbers(const BlockMatrix& b) {
  return !kUnsigned && b.zero == 128;
}

// Integers of the p-th vector of columns, of the k-th four of a group.
template <class L>
inline IntVector numbers(const std::uint8_t* from, int k, int p, bool flips) {
  if constexpr (L::kBits < 8) {
    const IntVector both = load_ints(from + k / 2 * kPanelFour + p * W * 4);
    const IntVector low =
        (k % 2 == 0 ? both : reinterpret_cast<IntVector>(reinterpret_cast<UintVector>(both) >> 4)) &
        0x0f0f0f0f;
    if constexpr (L::kBits == 4) return low;
    const auto four = reinterpret_cast<UintVector>(load_ints(from + (4 + k / 4) * kPanelFour + p * W * 4));
    const UintVector high = k % 4 < 2 ? four << (4 - k % 4 * 2) : four >> (k % 4 * 2 - 4);
    return low | (reinterpret_cast<IntVector>(high) & 0x30303030);
  } else {
    const IntVector n = load_ints(from + k * kPanelFour + p * W * 4);
    return flips ? n ^ static_cast<std::int32_t>(0x80808080u) : n;
  }
}

// y of the first R rows of a tile and of one panel: sums [R][16] without unit and bias.
template <int R, class L>
void sum_groups(const BlockMatrix& b, const BlockRows& x, std::int64_t panel, float* to) {
  Vector sum[R][kPerPanel];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < kPerPanel; ++p) sum[r][p] = Vector{};
  const bool flips = flips_numbers(b);
  const std::uint8_t* group = b.group(panel, 0);
  for (std::int64_t g = 0; g < x.groups; ++g, group += L::kBytes) {
#pragma GCC unroll 8
    for (std::int64_t byte = 0; byte < L::kBytes; byte += 64)
      __builtin_prefetch(group + 4 * L::kBytes + byte, 0, 2);
#pragma GCC unroll 2
    for (int h = 0; h < L::kHalves; ++h) {
      IntVector whole[R][kPerPanel];
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const std::int32_t first = x.first[(g * L::kHalves + h) * kRows + r];
#pragma GCC unroll 4
        for (int p = 0; p < kPerPanel; ++p) whole[r][p] = first - IntVector{};
      }
#pragma GCC unroll 8
      for (int k = h * 8 / L::kHalves; k < (h + 1) * 8 / L::kHalves; ++k) {
        IntVector n[kPerPanel];
#pragma GCC unroll 4
        for (int p = 0; p < kPerPanel; ++p) n[p] = numbers<L>(group + L::kNumbersAt, k, p, flips);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          std::int32_t four;
          std::memcpy(&four, x.bytes + (g * kRows + r) * kBlockGroup + k * 4, 4);
          const Left left(four);
#pragma GCC unroll 4
          for (int p = 0; p < kPerPanel; ++p) whole[r][p] = add_numbers(whole[r][p], n[p], left);
        }
      }
#pragma GCC unroll 4
      for (int p = 0; p < kPerPanel; ++p) {
        const Vector scale = load_scales(group + (h * kInt8Panel + p * W) * 2);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
          sum[r][p] =
              fused(__builtin_convertvector(whole[r][p], Vector), scale * x.steps[g * kRows + r], sum[r][p]);
      }
    }
    if constexpr (L::kStarts)
#pragma GCC unroll 4
      for (int p = 0; p < kPerPanel; ++p)
#pragma GCC unroll 2
        for (int h = 0; h < L::kHalves; ++h) {
          const Vector start = load_scales(group + L::kStartsAt + (h * kInt8Panel + p * W) * 2);
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r)
            sum[r][p] = fused(start, splat(x.sums[(g * L::kHalves + h) * kRows + r]), sum[r][p]);
        }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < kPerPanel; ++p) store(to + r * kInt8Panel + p * W, sum[r][p]);
}

// Turns sums [rows][16] of a panel into y.
template <class Function>
void finish_sums(const BlockMatrix& b, const Int8Product& m, const float* sums, std::int64_t i,
                 std::int64_t rows, std::int64_t panel, Function function) {
  for (std::int64_t c = 0; c < kInt8Panel; c += W) {
    const std::int64_t j = panel * kInt8Panel + c, lanes = m.columns - j < W ? m.columns - j : W;
    if (lanes <= 0) return;
    const Vector unit = load(b.units + j), bias = m.bias ? load_part(m.bias + j, lanes) : Vector{};
    for (std::int64_t r = 0; r < rows; ++r) {
      Vector y = function(load(sums + r * kInt8Panel + c) * unit + bias);
      if (m.residual) y += load_part(m.residual + (i + r) * m.residual_row + j, lanes);
      store_part(m.y + (i + r) * m.y_row + j, y, lanes);
    }
  }
}

// The same for `rows` rows, at most R.
template <int R, class L>
void sum_rows(const BlockMatrix& b, const BlockRows& x, std::int64_t rows, std::int64_t panel, float* to) {
  if constexpr (R > 0) {
    if (rows < R) return sum_rows<R - 1, L>(b, x, rows, panel, to);
    sum_groups<R, L>(b, x, panel, to);
  }
}

template <class L>
void multiply_rows(const BlockMatrix& b, const Int8Product& m, const BlockRows& x, std::int64_t i,
                   std::int64_t rows, std::int64_t panel_begin, std::int64_t panel_end) {
  alignas(64) float sums[kInt8Rows * kInt8Panel];
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    for (std::int64_t r = 0; r < rows; r += kRows)
      sum_rows<kRows, L>(b, x.tile(r / kRows), rows - r < kRows ? rows - r : kRows, panel,
                         sums + r * kInt8Panel);
    with_activation(m.activation, [&](auto function) { finish_sums(b, m, sums, i, rows, panel, function); });
  }
}

}  // namespace

void multiply_blocks(const BlockMatrix& b, const Int8Product& m, std::int64_t row_begin, std::int64_t row_end,
                     std::int64_t panel_begin, std::int64_t panel_end, std::uint8_t* scratch) {
  const std::int64_t groups = b.group_count(), halves = b.halves(), all = kInt8Rows * groups;
  auto* const steps = reinterpret_cast<float*>(scratch + all * kBlockGroup);
  auto* const first = reinterpret_cast<std::int32_t*>(steps + all);
  const BlockRows x{groups, reinterpret_cast<std::int8_t*>(scratch), steps, first,
                    reinterpret_cast<float*>(first + all * 2)};
  const std::int32_t zero = flips_numbers(b) ? 0 : b.zero;
  for (std::int64_t i = row_begin; i < row_end; i += kInt8Rows) {
    const std::int64_t rows = row_end - i < kInt8Rows ? row_end - i : kInt8Rows;
    for (std::int64_t r = 0; r < rows; ++r)
      quantize_row(x.tile(r / kRows), r % kRows, m.x + (i + r) * m.x_row, halves, zero);
    const auto run = [&](auto layout) {
      multiply_rows<decltype(layout)>(b, m, x, i, rows, panel_begin, panel_end);
    };
    const auto with_bits = [&](auto bits) {
      constexpr int kBits = decltype(bits)::value;
      if (b.has_halves)
        b.has_starts ? run(Layout<kBits, true, true>{}) : run(Layout<kBits, false, true>{});
      else
        b.has_starts ? run(Layout<kBits, true, false>{}) : run(Layout<kBits, false, false>{});
    };
    if (b.bits == 4)
      with_bits(std::integral_constant<int, 4>{});
    else if (b.bits == 6)
      with_bits(std::integral_constant<int, 6>{});
    else
      with_bits(std::integral_constant<int, 8>{});
  }
}

}  // namespace attend::kernels::ATTEND_ISA
