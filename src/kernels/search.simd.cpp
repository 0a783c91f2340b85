// SearchKernels of one instruction set.
#include "kernels/search.h"

#include "kernels/simd.h"

namespace attend::kernels::ATTEND_ISA {
namespace {

// Rows that are float32 as they are, and rows of 8-bit integers with a scale each.
struct FloatRow {
  const float* row;
  Vector part(std::int64_t i, std::int64_t count) const { return load_part(row + i, count); }
  float scale() const { return 1; }
};

struct Int8Row {
  const std::int8_t* row;
  float its_scale;
  Vector part(std::int64_t i, std::int64_t count) const {
    if (count == W) return __builtin_convertvector(load_wide(row + i), Vector);
    std::int8_t rest[W] = {};
    for (std::int64_t j = 0; j < count; ++j) rest[j] = row[i + j];
    return __builtin_convertvector(load_wide(rest), Vector);
  }
  float scale() const { return its_scale; }
};

template <class Row>
float cosine_of(const SearchQuery& query, const Row& row) {
  LaneSums products, squares;
  for_vectors(query.width, [&](std::int64_t i, std::int64_t count, int p) {
    const Vector x = row.part(i, count);
    products.part[p] = fused(load_part(query.numbers + i, count), x, products.part[p]);
    squares.part[p] = fused(x, x, squares.part[p]);
  });
  // A scale changes nothing, but it must be finite, and so must the length: 0 times them is 0, or NaN.
  const float length = __builtin_sqrtf(squares.total()) * query.length;
  return (length == 0 ? 0 : products.total() / length) + 0 * (length + row.scale());
}

template <class Row>
float product_of(const SearchQuery& query, const Row& row) {
  LaneSums products;
  for_vectors(query.width, [&](std::int64_t i, std::int64_t count, int p) {
    products.part[p] = fused(load_part(query.numbers + i, count), row.part(i, count), products.part[p]);
  });
  return products.total() * row.scale();
}

template <class Row>
float euclidean_of(const SearchQuery& query, const Row& row) {
  LaneSums squares;
  const Vector scale = splat(row.scale());
  for_vectors(query.width, [&](std::int64_t i, std::int64_t count, int p) {
    const Vector apart = load_part(query.numbers + i, count) - row.part(i, count) * scale;
    squares.part[p] = fused(apart, apart, squares.part[p]);
  });
  return -__builtin_sqrtf(squares.total());
}

template <class Row>
float manhattan_of(const SearchQuery& query, const Row& row) {
  LaneSums sizes;
  const Vector scale = splat(row.scale());
  for_vectors(query.width, [&](std::int64_t i, std::int64_t count, int p) {
    const Vector apart = load_part(query.numbers + i, count) - row.part(i, count) * scale;
    sizes.part[p] += apart < Vector{} ? -apart : apart;
  });
  return -sizes.total();
}

template <class RowAt>
void compare(const SearchQuery& query, RowAt row, std::int64_t count, float* scores) {
  switch (query.comparison) {
    case Comparison::cosine:
      for (std::int64_t i = 0; i < count; ++i) scores[i] = cosine_of(query, row(i));
      break;
    case Comparison::dot:
      for (std::int64_t i = 0; i < count; ++i) scores[i] = product_of(query, row(i));
      break;
    case Comparison::euclidean:
      for (std::int64_t i = 0; i < count; ++i) scores[i] = euclidean_of(query, row(i));
      break;
    case Comparison::manhattan:
      for (std::int64_t i = 0; i < count; ++i) scores[i] = manhattan_of(query, row(i));
  }
}

void compare_floats(const SearchQuery& query, const float* rows, std::int64_t count, float* scores) {
  compare(
      query, [&](std::int64_t i) { return FloatRow{rows + i * query.width}; }, count, scores);
}

void compare_int8(const SearchQuery& query, const std::int8_t* rows, const float* scales, std::int64_t count,
                  float* scores) {
  compare(
      query,
      [&](std::int64_t i) {
        return Int8Row{rows + i * query.width, scales[i]};
      },
      count, scores);
}

void count_differences(const std::uint8_t* query, const std::uint8_t* rows, std::int64_t bytes,
                       std::int64_t count, std::int32_t* differences) {
  for (std::int64_t row = 0; row < count; ++row, rows += bytes) {
    std::int32_t sum = 0;
    std::int64_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
      std::uint64_t a, b;
      std::memcpy(&a, query + i, 8);
      std::memcpy(&b, rows + i, 8);
      sum += __builtin_popcountll(a ^ b);
    }
    for (; i < bytes; ++i) sum += __builtin_popcount(query[i] ^ rows[i]);
    differences[row] = sum;
  }
}

}  // namespace

extern const SearchKernels search_table;
const SearchKernels search_table = {
    .compare_floats = compare_floats,
    .compare_int8 = compare_int8,
    .count_differences = count_differences,
};

}  // namespace attend::kernels::ATTEND_ISA
