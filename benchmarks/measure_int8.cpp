// measure-int8 [ROWS DEPTH COLUMNS]...: the machine's roof for products of 8-bit integers on all threads, and
// what share of it the kernels of src/kernels/int8 reach, with weights in 8 bits and in 4, at shapes of
// MiniLM, BERT-base and GPT-2 (or those given); for few rows also how fast they read the weights, beside the
// speed at which this memory is read.
#include "kernels/int8/int4.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <random>
#include <thread>
#include <vector>

#include <immintrin.h>

namespace {

using namespace attend::kernels;

const unsigned kThreads = std::max(1u, std::thread::hardware_concurrency());

// The least seconds of several rounds of body(thread) on all threads.
double seconds(int rounds, const std::function<void(unsigned)>& body) {
  double least = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (unsigned t = 1; t < kThreads; ++t) threads.emplace_back(body, t);
    body(0);
    for (std::thread& thread : threads) thread.join();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

// Independent chains of vpdpbusd in registers: operations a second, a multiply-add counting as two.
__attribute__((target("avx512f,avx512vnni"))) void dot_products(std::int64_t count, int* out) {
  __m512i sum[16], a = _mm512_set1_epi8(1), b = _mm512_set1_epi8(2);
  for (auto& s : sum) s = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 16
    for (auto& s : sum) s = _mm512_dpbusd_epi32(s, a, b);
    asm volatile("" : "+v"(a), "+v"(b));
  }
  alignas(64) int lanes[16];
  for (const auto& s : sum) {
    std::memcpy(lanes, &s, sizeof lanes);
    *out += lanes[0];
  }
}

double roof() {
  if (!__builtin_cpu_supports("avx512vnni")) return 0;
  constexpr std::int64_t kCount = 4000000;
  std::vector<int> out(kThreads * 16);
  const double s = seconds(5, [&](unsigned t) { dot_products(kCount, &out[t * 16]); });
  return kThreads * static_cast<double>(kCount) * 16 * 64 * 2 / s;
}

double memory_speed() {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  std::vector<std::uint64_t> all(kBytes / 8, 1);
  std::vector<std::uint64_t> out(kThreads * 8);
  const double s = seconds(4, [&](unsigned t) {
    const std::size_t part = all.size() / kThreads;
    std::uint64_t sum[8] = {};
    for (std::size_t i = t * part; i + 8 <= (t + 1) * part; i += 8)
      for (std::size_t j = 0; j < 8; ++j) sum[j] += all[i + j];
    for (const std::uint64_t x : sum) out[t * 8] += x;
  });
  return static_cast<double>(kBytes) / s;
}

// A matrix of random numbers in 8 bits.
class Eight {
 public:
  static constexpr const char* kName = "8 bits";
  static std::int64_t scratch(std::int64_t depth) { return int8_scratch(depth); }

  Eight(const Int8Kernels& kernels, const std::vector<float>& w, std::int64_t depth, std::int64_t columns)
      : weights_(static_cast<std::size_t>(int8_size(depth, columns))),
        scales_(static_cast<std::size_t>(int8_panels(columns) * kInt8Panel)),
        sums_(scales_.size()),
        matrix_{depth, columns, weights_.data(), scales_.data(), sums_.data(), true} {
    std::vector<float> scratch(static_cast<std::size_t>(16 * depth));
    kernels.pack(matrix_, w.data(), depth, 1, 0, int8_panels(columns), scratch.data());
  }
  std::size_t bytes() const { return weights_.size(); }
  template <class... Range>
  void multiply(const Int8Kernels& kernels, const Int8Product& product, Range... range) const {
    kernels.multiply(matrix_, product, range...);
  }

 private:
  std::vector<std::int8_t> weights_;
  std::vector<float> scales_;
  std::vector<std::int32_t> sums_;
  Int8Matrix matrix_;
};

// The same in 4.
class Four {
 public:
  static constexpr const char* kName = "4 bits";
  static std::int64_t scratch(std::int64_t depth) { return int4_scratch(depth); }

  Four(const Int8Kernels& kernels, const std::vector<float>& w, std::int64_t depth, std::int64_t columns)
      : numbers_(static_cast<std::size_t>(int4_size(depth, columns))),
        steps_(static_cast<std::size_t>(int8_panels(columns) * kInt8Panel * int4_groups(depth))),
        starts_(steps_.size()),
        scales_(static_cast<std::size_t>(int8_panels(columns) * kInt8Panel)),
        sums_(scales_.size()),
        matrix_{depth,          columns,        numbers_.data(), steps_.data(),
                starts_.data(), scales_.data(), sums_.data(),    true} {
    std::vector<float> scratch(static_cast<std::size_t>(17 * kInt4Group * int4_groups(depth)));
    kernels.pack_int4(matrix_, w.data(), depth, 1, 0, int8_panels(columns), scratch.data());
  }
  std::size_t bytes() const { return numbers_.size() + steps_.size() + starts_.size(); }
  template <class... Range>
  void multiply(const Int8Kernels& kernels, const Int8Product& product, Range... range) const {
    kernels.multiply_int4(matrix_, product, range...);
  }

 private:
  std::vector<std::uint8_t> numbers_, steps_;
  std::vector<std::int8_t> starts_;
  std::vector<float> scales_;
  std::vector<std::int32_t> sums_;
  Int4Matrix matrix_;
};

template <class Weights>
void measure(const Int8Kernels& kernels, std::int64_t rows, std::int64_t depth, std::int64_t columns,
             double most) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> numbers(-1, 1);
  std::vector<float> w(static_cast<std::size_t>(depth * columns)), x(static_cast<std::size_t>(rows * depth)),
      y(static_cast<std::size_t>(rows * columns));
  for (float& v : w) v = numbers(generator);
  for (float& v : x) v = numbers(generator);
  // As many matrices as do not fit into a cache, if one row is all there is.
  std::list<Weights> all;
  all.emplace_back(kernels, w, depth, columns);
  const std::size_t bytes = all.front().bytes();
  const std::size_t copies = rows > 8 ? 1 : std::max<std::size_t>(1, (std::size_t{256} << 20) / bytes);
  while (all.size() < copies) all.emplace_back(kernels, w, depth, columns);
  const std::int64_t panels = int8_panels(columns);
  const double work = 2.0 * static_cast<double>(rows * depth * columns);
  const int repeats = std::max(1, static_cast<int>(2e10 / work / static_cast<double>(copies)));
  const bool by_rows = rows >= 16 * static_cast<std::int64_t>(kThreads);
  const double s =
      seconds(5,
              [&](unsigned t) {
                std::vector<std::uint8_t> bytes_of_rows(static_cast<std::size_t>(Weights::scratch(depth)));
                const auto part = [&](std::int64_t count, unsigned i) { return count * i / kThreads; };
                for (int i = 0; i < repeats; ++i)
                  for (const Weights& m : all) {
                    Int8Product p{.rows = rows, .columns = columns, .x = x.data(), .x_row = depth};
                    p.y = y.data(), p.y_row = columns;
                    if (by_rows)
                      m.multiply(kernels, p, part(rows, t), part(rows, t + 1), std::int64_t{0}, panels,
                                 bytes_of_rows.data());
                    else
                      m.multiply(kernels, p, std::int64_t{0}, rows, part(panels, t), part(panels, t + 1),
                                 bytes_of_rows.data());
                  }
              }) /
      repeats / static_cast<double>(copies);
  std::printf("%-12s %s %5ld x %4ld x %5ld: %8.1f GOP/s", kernels.name, Weights::kName,
              static_cast<long>(rows), static_cast<long>(depth), static_cast<long>(columns), work / s / 1e9);
  if (most > 0) std::printf(" (%4.1f %%)", 100 * work / s / most);
  if (rows <= 8) std::printf(", %5.1f GB/s", static_cast<double>(bytes) / s / 1e9);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const double most = roof();
  std::printf("%u threads; int8 roof %.0f GOP/s, memory %.1f GB/s\n", kThreads, most / 1e9,
              memory_speed() / 1e9);
  std::vector<std::array<std::int64_t, 3>> shapes;
  for (int i = 1; i + 2 < argc; i += 3)
    shapes.push_back({std::atol(argv[i]), std::atol(argv[i + 1]), std::atol(argv[i + 2])});
  if (shapes.empty())
    shapes = {{4096, 384, 1152}, {4096, 384, 384}, {4096, 384, 1536}, {4096, 1536, 384},
              {512, 384, 1152},  {128, 768, 2304}, {128, 768, 768},   {128, 3072, 768},
              {1, 768, 2304},    {1, 768, 768},    {1, 768, 3072},    {1, 3072, 768},
              {1, 768, 50257},   {4, 768, 50257},  {8, 768, 3072},    {8, 3072, 768}};
  for (const char* name : {"avx512_vnni", "avx_vnni", "avx2", "portable"})
    if (const Int8Kernels* kernels = find_int8_kernels(name))
      for (const auto& [rows, depth, columns] : shapes) {
        measure<Eight>(*kernels, rows, depth, columns, most);
        measure<Four>(*kernels, rows, depth, columns, most);
      }
}
