// One head of one sequence in the attention kernels, and the addresses of its rows.
#pragma once

#include "kernels/activation.h"
#include "kernels/distance.h"
#include "kernels/int8/pages.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

#include <type_traits>

namespace attend::kernels::ATTEND_ISA {

// W bytes, or the first `count` of them, as floats.
inline Vector load(const std::int8_t* p) {
  return __builtin_convertvector(load_wide(p), Vector);
}
inline Vector load_part(const std::int8_t* p, std::int64_t count) {
  if (count == W) return load(p);
  std::int8_t bytes[W] = {};
  std::memcpy(bytes, p, static_cast<std::size_t>(count));
  return load(bytes);
}

// W numbers in bfloat16, or the first `count` of them, as floats.
inline Vector load(const Bfloat16* p) {
  return reinterpret_cast<Vector>(load_wide(&p->bits) << 16);
}
inline Vector load_part(const Bfloat16* p, std::int64_t count) {
  if (count == W) return load(p);
  Bfloat16 numbers[W] = {};
  std::memcpy(numbers, p, static_cast<std::size_t>(count) * 2);
  return load(numbers);
}

// Keys or values of one head with a constant stride: `count` rows, up to the end of the page. A row is
// first[row * stride ...] times the scale that `scaled` applies.
template <class Number>
struct PlainRows {
  const Number* first;
  std::int64_t stride, count;

  const Number* row(std::int64_t r) const { return first + r * stride; }
  float scaled(float x, std::int64_t) const { return x; }
  Vector scaled(Vector x, std::int64_t, std::int64_t) const { return x; }
};
using FloatRows = PlainRows<float>;
using Bfloat16Rows = PlainRows<Bfloat16>;
struct Int8Rows {
  const std::int8_t* first;
  const float* scales;
  std::int64_t stride, count;

  const std::int8_t* row(std::int64_t r) const { return first + r * stride; }
  float scaled(float x, std::int64_t r) const { return x * scales[r]; }
  // The scales of `count` rows, one in each lane.
  Vector scaled(Vector x, std::int64_t r, std::int64_t count) const {
    return x * load_part(scales + r, count);
  }
};

enum class Half { keys, values };

struct Head {
  std::int64_t sequence, head, key_head, D, Dp, Lq, Lk, Lkp, first_query;

  Head(const Attention& a, std::int64_t task)
      : sequence(task / a.heads),
        head(task % a.heads),
        key_head(head / queries_per_key(a)),
        D(a.head_size),
        Dp(round_up(D)) {
    first_query = a.query_offsets[sequence];
    Lq = a.query_offsets[sequence + 1] - first_query;
    Lk = a.keys.key_length[sequence];
    Lkp = round_up(Lk);
  }
  static std::int64_t key_heads(const Attention& a) { return a.key_heads > 0 ? a.key_heads : a.heads; }
  static std::int64_t queries_per_key(const Attention& a) { return a.heads / key_heads(a); }
  static std::int64_t round_up(std::int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

  const float* query(const Attention& a, std::int64_t i) const {
    return a.query + (first_query + i) * a.query_stride + head * D;
  }
  // Row j of keys and values in float32.
  const float* key(const Attention& a, std::int64_t j) const { return float_rows(a, Half::keys, j).first; }
  const float* value(const Attention& a, std::int64_t j) const {
    return float_rows(a, Half::values, j).first;
  }
  // Rows j and following.
  template <class Rows>
  Rows rows(const Attention& a, Half half, std::int64_t j) const {
    if constexpr (std::is_same_v<Rows, Int8Rows>)
      return int8_rows(a, half, j);
    else if constexpr (std::is_same_v<Rows, Bfloat16Rows>)
      return paged_rows<Rows>(a, a.keys.bfloat16_pages, half, j);
    else
      return float_rows(a, half, j);
  }
  float* out(const Attention& a, std::int64_t i) const {
    return a.out + (first_query + i) * a.out_stride + head * D;
  }
  // The keys that query i sees are first_seen to seen - 1.
  std::int64_t seen(const Attention& a, std::int64_t i) const {
    if (!a.causal && a.window == 0) return Lk;
    const std::int64_t limit = i + Lk - Lq + (a.causal ? 1 : a.window);
    return limit < Lk ? limit : Lk;
  }
  std::int64_t first_seen(const Attention& a, std::int64_t i) const {
    const std::int64_t first = a.window > 0 ? i + Lk - Lq + 1 - a.window : 0;
    return first > 0 ? first : 0;
  }
  // The head's sink, a score that reads no value; null: none.
  const float* sink(const Attention& a) const { return a.sinks ? a.sinks + head : nullptr; }
  DistanceRow distances(const Attention& a, std::int64_t i) const {
    const std::int64_t key_begin = a.keys.page_table != nullptr ? 0 : a.keys.key_begin[sequence];
    const std::int64_t place = a.distance.place ? a.distance.place[first_query + i] : i + Lk - Lq;
    return {a, head, first_query + i, key_begin, place};
  }
  // Applies the soft cap to scores.
  static void cap(const Attention& a, float* scores, std::int64_t count) {
    if (a.soft_cap == 0) return;
    for (std::int64_t j = 0; j < count; j += W) {
      const std::int64_t part = count - j < W ? count - j : W;
      store_part(scores + j, tanh(load_part(scores + j, part) / a.soft_cap) * a.soft_cap, part);
    }
  }
  // Adds the position and penalty terms to query i's scores of keys [begin, end), of which scores[0] is the
  // first.
  void add_terms(const Attention& a, std::int64_t i, float* scores, std::int64_t begin,
                 std::int64_t end) const {
    if (a.distance.count > 0) distances(a, i).add(a.distance, scores, begin, end);
    if (a.penalty == nullptr) return;
    const float* penalty = a.penalty[sequence] + i * Lk + begin;
    for (std::int64_t j = 0; j < end - begin; ++j) scores[j] += penalty[j];
  }
  // The first dropout index of query i.
  std::uint64_t dropout_index(const Attention& a, std::int64_t i) const {
    return static_cast<std::uint64_t>((first_query + i) * a.heads + head) << 24;
  }

 private:
  // Where row j is stored: its page, its row there, and the number of rows from there to the end of the page.
  struct Place {
    std::int64_t page, row, count;
  };
  Place place(const KeyValueView& k, std::int64_t j) const {
    const std::int64_t row = j % k.page_rows, left = k.page_rows - row;
    return {k.page_table[sequence][j / k.page_rows], row, left < Lk - j ? left : Lk - j};
  }
  FloatRows float_rows(const Attention& a, Half half, std::int64_t j) const {
    const KeyValueView& k = a.keys;
    if (k.pages == nullptr) {
      const float* all = half == Half::keys ? k.key : k.value;
      return {all + (k.key_begin[sequence] + j) * k.stride + key_head * D, k.stride, Lk - j};
    }
    return paged_rows<FloatRows>(a, k.pages, half, j);
  }
  template <class Rows, class Number>
  Rows paged_rows(const Attention& a, const Number* pages, Half half, std::int64_t j) const {
    const KeyValueView& k = a.keys;
    const Place at = place(k, j);
    const std::int64_t own = static_cast<int>(half) * key_heads(a) + key_head;
    return {pages + at.page * k.page_stride + (own * k.page_rows + at.row) * D, D, at.count};
  }
  Int8Rows int8_rows(const Attention& a, Half half, std::int64_t j) const {
    const Int8PageLayout layout{key_heads(a), D, a.keys.page_rows};
    const Place at = place(a.keys, j);
    const std::int8_t* page = a.keys.int8_pages + at.page * a.keys.page_stride;
    const auto* scales =
        reinterpret_cast<const float*>(page + layout.scales_at(static_cast<int>(half), key_head));
    return {page + layout.bytes_at(static_cast<int>(half), key_head) + at.row * D, scales + at.row, D,
            at.count};
  }
};

}  // namespace attend::kernels::ATTEND_ISA
