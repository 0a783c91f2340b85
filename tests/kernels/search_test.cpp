// Comparing a query with many rows, against definitions in double precision.
#include "kernels/search.h"

#include "kernels/kernels_test.h"

#include <bit>

namespace attend::kernels {
namespace {

class SearchKernelsTest : public KernelsTest {};

constexpr Comparison kComparisons[] = {Comparison::cosine, Comparison::dot, Comparison::euclidean,
                                       Comparison::manhattan};

double expected(Comparison comparison, const float* a, const double* b, std::int64_t width) {
  double product = 0, a_square = 0, b_square = 0, square = 0, size = 0;
  for (std::int64_t j = 0; j < width; ++j) {
    product += a[j] * b[j];
    a_square += double{a[j]} * a[j];
    b_square += b[j] * b[j];
    square += (a[j] - b[j]) * (a[j] - b[j]);
    size += std::abs(a[j] - b[j]);
  }
  switch (comparison) {
    case Comparison::cosine:
      return b_square == 0 ? 0 : product / std::sqrt(a_square * b_square);
    case Comparison::dot:
      return product;
    case Comparison::euclidean:
      return -std::sqrt(square);
    default:
      return -size;
  }
}

float length(const std::vector<float>& numbers) {
  double sum = 0;
  for (const float x : numbers) sum += double{x} * x;
  return static_cast<float>(std::sqrt(sum));
}

TEST_P(SearchKernelsTest, ComparesAsDefined) {
  const SearchKernels& search = *find_search_kernels(GetParam());
  constexpr std::int64_t rows = 7;
  for (const std::int64_t width : {1, 3, 15, 16, 17, 64, 100, 384})
    for (const Comparison comparison : kComparisons) {
      const std::vector<float> query = random_numbers(width, 1);
      std::vector<float> floats = random_numbers(rows * width, 2);
      std::fill_n(floats.begin(), width, 0.0f);  // a row of length 0
      std::vector<std::int8_t> integers(rows * width);
      std::vector<float> scales = random_numbers(rows, 3), found(rows), found_int8(rows);
      for (std::size_t i = 0; i < integers.size(); ++i) integers[i] = static_cast<std::int8_t>(i * 37);
      for (float& scale : scales) scale = std::abs(scale) / 50;
      const SearchQuery asked{comparison, query.data(), width, length(query)};
      search.compare_floats(asked, floats.data(), rows, found.data());
      search.compare_int8(asked, integers.data(), scales.data(), rows, found_int8.data());
      std::vector<double> of_floats, of_integers;
      for (std::int64_t i = 0; i < rows; ++i) {
        std::vector<double> a(width), b(width);
        for (std::int64_t j = 0; j < width; ++j) {
          a[j] = floats[i * width + j];
          b[j] = double{scales[i]} * integers[i * width + j];
        }
        of_floats.push_back(expected(comparison, query.data(), a.data(), width));
        of_integers.push_back(expected(comparison, query.data(), b.data(), width));
      }
      EXPECT_LE(difference(found, of_floats), 1e-6) << width;
      EXPECT_LE(difference(found_int8, of_integers), 1e-6) << width;
    }
}

TEST_P(SearchKernelsTest, CountsDifferentBits) {
  const SearchKernels& search = *find_search_kernels(GetParam());
  for (const std::int64_t bytes : {1, 7, 8, 9, 48}) {
    std::vector<std::uint8_t> query(bytes), rows(3 * bytes);
    for (std::size_t i = 0; i < query.size(); ++i) query[i] = static_cast<std::uint8_t>(i * 91 + 5);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint8_t>(i * i * 29 + 3);
    std::vector<std::int32_t> found(3), wanted(3);
    for (std::size_t i = 0; i < rows.size(); ++i)
      wanted[i / bytes] += std::popcount(static_cast<unsigned>(rows[i] ^ query[i % bytes]));
    search.count_differences(query.data(), rows.data(), bytes, 3, found.data());
    EXPECT_EQ(found, wanted);
  }
}

TEST_P(SearchKernelsTest, ShowsRowsThatAreNotFinite) {
  const SearchKernels& search = *find_search_kernels(GetParam());
  const std::vector<float> query = random_numbers(20, 1);
  for (const float bad : {NAN, INFINITY, -INFINITY})
    for (const Comparison comparison : kComparisons) {
      std::vector<float> row = random_numbers(20, 2), score(1);
      row[17] = bad;
      const SearchQuery asked{comparison, query.data(), 20, length(query)};
      search.compare_floats(asked, row.data(), 1, score.data());
      EXPECT_FALSE(std::isfinite(score[0]));
      const std::vector<std::int8_t> integers(20, 3);
      search.compare_int8(asked, integers.data(), &bad, 1, score.data());
      EXPECT_FALSE(std::isfinite(score[0]));
    }
}

INSTANTIATE_TEST_SUITE_P(Sets, SearchKernelsTest, testing::ValuesIn(instruction_sets));

}  // namespace
}  // namespace attend::kernels
