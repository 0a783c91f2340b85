// Products with 4-bit weights in one instruction set.
#include "kernels/int8/int4.h"

#include "kernels/int8/int4_products.h"
#include "kernels/int8/tile.h"

namespace attend::kernels::ATTEND_ISA {
namespace {

typedef std::uint8_t Bytes __attribute__((vector_size(W * 4)));

constexpr std::int64_t kEights = kInt4Group / 8;
constexpr std::int64_t kPanelEight = kInt8Panel * 4;  // bytes

inline IntVector low_halves(IntVector v) {
  return v & 0x0f0f0f0f;
}
inline IntVector high_halves(IntVector v) {
  return (v >> 4) & 0x0f0f0f0f;
}

inline Left left_at(const std::uint8_t* four) {
  std::int32_t bytes;
  std::memcpy(&bytes, four, 4);
  return Left(bytes);
}

// The sum of n times q over a group, one column in each lane; q are a row's integers without the offset.
class GroupSum {
 public:
  // Adds eight depths: their n in both halves of bytes, and the row's q of the first four and of the other
  // four.
  void add(IntVector both, const Left& first, const Left& second) {
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
    low_ = dot_products(low_, low_halves(both), first.bytes);
    high_ = dot_products(high_, both & kHighHalves, second.bytes);
#elif defined(__ARM_FEATURE_DOTPROD)
    low_ = dot_products(low_, low_halves(both), first.bytes);
    high_ = dot_products(high_, high_halves(both), second.bytes);
#elif defined(__AVX2__)
    pairs_ += (Shorts)_mm256_maddubs_epi16((__m256i)low_halves(both), first.bytes);
    pairs_ += (Shorts)_mm256_maddubs_epi16((__m256i)high_halves(both), second.bytes);
#else
    pairs_ += pairs(low_halves(both), first) + pairs(high_halves(both), second);
#endif
  }
  IntVector whole() const {
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
    return low_ + (high_ >> 4);
#elif defined(__ARM_FEATURE_DOTPROD)
    return low_ + high_;
#elif defined(__AVX2__)
    return (IntVector)_mm256_madd_epi16((__m256i)pairs_, _mm256_set1_epi16(1));
#else
    const IntVector both = reinterpret_cast<IntVector>(pairs_);
    return ((both << 16) >> 16) + (both >> 16);
#endif
  }

 private:
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
  static constexpr std::int32_t kHighHalves = static_cast<std::int32_t>(0xf0f0f0f0);
  IntVector low_{}, high_{};  // high_ is 16 times too large, which saves shifting each byte
#elif defined(__ARM_FEATURE_DOTPROD)
  IntVector low_{}, high_{};
#else
  // 16 bits hold the 8 products of two numbers that a lane sums: 8 * 2 * 15 * 127 < 2^15.
  static_assert(kInt4Group / 4 * 2 * 15 * 127 < 1 << 15);
#if !defined(__AVX2__)
  static Shorts pairs(IntVector n, const Left& q) {
    const Shorts bytes = reinterpret_cast<Shorts>(n);
    return (bytes & 0xff) * q.even + (bytes >> 8) * q.odd;
  }
#endif
  Shorts pairs_{};
#endif
};

// R rows by a panel: adds each group's sum of n times q times its step, and its start times its sum of q.
template <int R>
void few_rows(const Int4Matrix& b, const Int8Product& m, const Factors& f, const std::int32_t* group_sums,
              std::int64_t r0, std::int64_t panel) {
  const std::int64_t groups = int4_groups(b.depth);
  const std::uint8_t* rows = f.rows + r0 * f.stride;
  IntVector sum[R][kPerPanel];
#pragma GCC unroll 4
  for (int v = 0; v < kPerPanel; ++v) {
    IntVector total[R] = {};
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::uint8_t* numbers = b.numbers + (panel * groups + g) * kEights * kPanelEight + v * W * 4;
      GroupSum part[R];
#pragma GCC unroll 4
      for (std::int64_t e = 0; e < kEights; ++e) {
        const IntVector both = load_ints(numbers + e * kPanelEight);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const std::uint8_t* eight = rows + r * f.stride + g * kInt4Group + e * 8;
          part[r].add(both, left_at(eight), left_at(eight + 4));
        }
      }
      const std::int64_t at = (panel * groups + g) * kInt8Panel + v * W;
      const IntVector step = load_wide(b.steps + at), start = load_wide(b.starts + at);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r)
        total[r] += part[r].whole() * step + start * group_sums[(r0 + r) * groups + g];
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sum[r][v] = total[r];
  }
  finish(m, f, {sum[0], r0, R, panel - f.first_panel, kPerPanel});
}

template <int R>
void last_few(const Int4Matrix& b, const Int8Product& m, const Factors& f, const std::int32_t* group_sums,
              std::int64_t rows, std::int64_t r0, std::int64_t panel) {
  if constexpr (R > 0) {
    if (rows < R) return last_few<R - 1>(b, m, f, group_sums, rows, r0, panel);
    few_rows<R>(b, m, f, group_sums, r0, panel);
  }
}

// Expands a panel to the bytes of int8.h: [fours][16][4].
void expand(std::int8_t* to, const Int4Matrix& b, std::int64_t panel) {
  const std::int64_t groups = int4_groups(b.depth);
  for (std::int64_t g = 0; g < groups; ++g)
    for (int v = 0; v < kPerPanel; ++v) {
      const std::int64_t at = (panel * groups + g) * kInt8Panel + v * W;
      const IntVector step = load_wide(b.steps + at), start = load_wide(b.starts + at) & 0xff;
      const Shorts steps = reinterpret_cast<Shorts>(step | (step << 16));
      const Bytes starts = reinterpret_cast<Bytes>((start | (start << 8)) | ((start | (start << 8)) << 16));
      for (std::int64_t e = 0; e < kEights; ++e) {
        const IntVector both =
            load_ints(b.numbers + ((panel * groups + g) * kEights + e) * kPanelEight + v * W * 4);
        for (int half = 0; half < 2; ++half) {
          const IntVector n = half == 0 ? low_halves(both) : high_halves(both);
          const Shorts even = reinterpret_cast<Shorts>(n & 0x00ff00ff) * steps,
                       odd = reinterpret_cast<Shorts>((n >> 8) & 0x00ff00ff) * steps;
          const IntVector whole = (reinterpret_cast<IntVector>(even) & 0x00ff00ff) |
                                  ((reinterpret_cast<IntVector>(odd) & 0x00ff00ff) << 8);
          const Bytes bytes = reinterpret_cast<Bytes>(whole) + starts;
          std::memcpy(to + (g * kEights * 2 + e * 2 + half) * kPanelEight + v * W * 4, &bytes, sizeof bytes);
        }
      }
    }
}

struct Group {
  std::int32_t step = 1, start = 0;
};

inline float integer_of(float x) {
  return (x + 12582912.0f) - 12582912.0f;
}

// The number n for x, which is in units of the column's scale.
inline float number_of(float x, Group g) {
  const float largest = static_cast<float>((127 - g.start) / g.step < 15 ? (127 - g.start) / g.step : 15);
  const float n = integer_of((x - static_cast<float>(g.start)) / static_cast<float>(g.step));
  return n < 0 ? 0 : n > largest ? largest : n;
}

// The squared error of a group, summed in the same order in every instruction set.
float error_of(const float* x, Group g) {
  float lanes[4] = {};
  const float step = static_cast<float>(g.step), start = static_cast<float>(g.start);
  for (std::int64_t k = 0; k < kInt4Group; k += 4)
    for (int i = 0; i < 4; ++i) {
      const float off = x[k + i] - (number_of(x[k + i], g) * step + start);
      lanes[i] += off * off;
    }
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// The step and start with the smallest error, among those near the ones that just span the group.
Group choose(const float* x) {
  float low = x[0], high = x[0];
  for (std::int64_t k = 1; k < kInt4Group; ++k) {
    low = x[k] < low ? x[k] : low;
    high = x[k] > high ? x[k] : high;
  }
  const std::int32_t spanning = static_cast<std::int32_t>((high - low) / 15.0f) + 1;
  Group best;
  float min_error = -1;
  for (std::int32_t step = spanning - 2; step <= spanning; ++step) {
    if (step < 1 || step > 17) continue;
    const auto middle =
        static_cast<std::int32_t>(integer_of((low + high - 15.0f * static_cast<float>(step)) / 2));
    for (std::int32_t start = middle - 2; start <= middle + 2; ++start) {
      const Group g{step, start < -127 ? -127 : start > 127 ? 127 : start};
      const float error = error_of(x, g);
      if (min_error < 0 || error < min_error) {
        min_error = error;
        best = g;
      }
    }
  }
  return best;
}

// Packs one column w [depth] into numbers, steps and starts. x: scratch for the padded depth.
void pack_column(const Int4Matrix& m, const float* w, std::int64_t column, float* x) {
  const std::int64_t groups = int4_groups(m.depth), panel = column / kInt8Panel, lane = column % kInt8Panel;
  const std::int32_t bits = largest_size(w, m.depth);
  float largest = 0;
  std::memcpy(&largest, &bits, sizeof largest);
  const bool infinite = bits >= 0x7f800000, nothing = infinite || largest < 1e-30f;
  m.scales[column] = infinite ? __builtin_nanf("") : nothing ? 0 : largest / 127.0f;
  const float factor = nothing ? 0 : 127.0f / largest;
  for (std::int64_t k = 0; k < m.depth; ++k) x[k] = nothing ? 0 : w[k] * factor;
  for (std::int64_t k = m.depth; k < groups * kInt4Group; ++k) x[k] = x[m.depth - 1];
  std::int32_t sum = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const float* group = x + g * kInt4Group;
    const Group chosen = choose(group);
    const std::int64_t at = panel * groups + g;
    m.steps[at * kInt8Panel + lane] = static_cast<std::uint8_t>(chosen.step);
    m.starts[at * kInt8Panel + lane] = static_cast<std::int8_t>(chosen.start);
    for (std::int64_t k = 0; k < kInt4Group; ++k) {
      const auto n = static_cast<std::int32_t>(number_of(group[k], chosen));
      sum += n * chosen.step + chosen.start;
      std::uint8_t& to = m.numbers[(at * kEights + k / 8) * kPanelEight + lane * 4 + k % 4];
      to = static_cast<std::uint8_t>(k % 8 < 4 ? n : to | n << 4);
    }
  }
  m.sums[column] = sum;
}

}  // namespace

void pack_int4(const Int4Matrix& m, const float* w, std::int64_t w_row, std::int64_t w_column,
               std::int64_t begin, std::int64_t end, float* scratch) {
  const std::int64_t groups = int4_groups(m.depth), padded = groups * kInt4Group;
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t first = panel * kInt8Panel,
                       count = m.columns - first < kInt8Panel ? m.columns - first : kInt8Panel;
    for (std::int64_t k = 0; k < m.depth; ++k)
      for (std::int64_t c = 0; c < count; ++c)
        scratch[c * padded + k] = w[(first + c) * w_row + k * w_column];
    if (count < kInt8Panel) {
      std::memset(m.numbers + panel * groups * kEights * kPanelEight, 0,
                  static_cast<std::size_t>(groups * kEights * kPanelEight));
      std::memset(m.steps + panel * groups * kInt8Panel, 0, static_cast<std::size_t>(groups * kInt8Panel));
      std::memset(m.starts + panel * groups * kInt8Panel, 0, static_cast<std::size_t>(groups * kInt8Panel));
    }
    for (std::int64_t c = 0; c < kInt8Panel; ++c)
      if (c < count) {
        if (m.rotated) rotate(scratch + c * padded, scratch + c * padded, m.depth);
        pack_column(m, scratch + c * padded, first + c, scratch + kInt8Panel * padded);
      } else {
        m.scales[first + c] = 0;
        m.sums[first + c] = 0;
      }
  }
}

void multiply_int4(const Int4Matrix& b, const Int8Product& m, std::int64_t row_begin, std::int64_t row_end,
                   std::int64_t panel_begin, std::int64_t panel_end, std::uint8_t* scratch) {
  const std::int64_t groups = int4_groups(b.depth), padded = groups * kInt4Group,
                     stride = int8_stride(b.depth);
  auto* const group_sums = reinterpret_cast<std::int32_t*>(scratch + int8_scratch(b.depth));
  auto* const panels = reinterpret_cast<std::int8_t*>(group_sums + kInt8Rows * groups);
  float* const room = b.rotated ? reinterpret_cast<float*>(scratch + kInt8Rows * stride) : nullptr;
  float scales[kInt8Rows];
  for (std::int64_t i = row_begin; i < row_end; i += kInt8Rows) {
    const std::int64_t rows = row_end - i < kInt8Rows ? row_end - i : kInt8Rows;
    const bool few = rows <= kFewRows;
    for (std::int64_t r = 0; r < rows; ++r)
      scales[r] = quantize_left(scratch + r * stride, m.x + (i + r) * m.x_row, b.depth, padded, room,
                                few ? 0 : kOffset);
    if (few) {
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t g = 0; g < groups; ++g) {
          std::int32_t sum = 0;
          for (std::int64_t k = 0; k < kInt4Group; ++k)
            sum += static_cast<std::int8_t>(scratch[r * stride + g * kInt4Group + k]);
          group_sums[r * groups + g] = sum;
        }
      for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
        const Factors f{scratch,
                        stride,
                        scales,
                        i,
                        nullptr,
                        0,
                        b.scales + panel * kInt8Panel,
                        b.sums + panel * kInt8Panel,
                        panel};
        std::int64_t r = 0;
        for (; r + kTileRows <= rows; r += kTileRows) few_rows<kTileRows>(b, m, f, group_sums, r, panel);
        last_few<kTileRows - 1>(b, m, f, group_sums, rows - r, r, panel);
      }
      continue;
    }
    for (std::int64_t panel = panel_begin; panel < panel_end;) {
      const std::int64_t some = panel_end - panel < kTilePanels ? 1 : kTilePanels;
      for (std::int64_t p = 0; p < some; ++p) expand(panels + p * padded * kInt8Panel, b, panel + p);
      const Factors f{scratch,
                      stride,
                      scales,
                      i,
                      panels,
                      padded / 4,
                      b.scales + panel * kInt8Panel,
                      b.sums + panel * kInt8Panel,
                      panel};
      if (some == kTilePanels)
        rows_by_panels<kTilePanels>(m, f, rows, 0);
      else
        rows_by_panels<1>(m, f, rows, 0);
      panel += some;
    }
  }
}

}  // namespace attend::kernels::ATTEND_ISA
