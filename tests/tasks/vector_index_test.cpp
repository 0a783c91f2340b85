// The index of a file of vectors: what a search with it finds, and files that do not fit.
#include <attend/vectors.h>

#include "base/file.h"
#include "expect_error.h"
#include "formats/tensors/safetensors.h"
#include "temporary_directory.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace attend {
namespace {

using Vectors = std::vector<std::vector<float>>;

constexpr std::size_t kCount = 3500, kSize = 24, kTop = 10;

// Groups of similar vectors, as texts make them.
Vectors grouped_vectors(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::mt19937 centres_generator(77);
  std::normal_distribution<float> normal;
  Vectors centres(100, std::vector<float>(kSize)), vectors;
  for (std::vector<float>& centre : centres)
    for (float& x : centre) x = normal(centres_generator);
  for (std::size_t i = 0; i < count; ++i) {
    vectors.push_back(centres[generator() % centres.size()]);
    for (float& x : vectors.back()) x += 0.7f * normal(generator);
  }
  return vectors;
}

// The share of the nearest vectors that the search with an index finds. Their similarities must be equal.
double recall(const std::filesystem::path& path, Similarity kind) {
  const StoredVectors exact(path, {.index = false}), indexed(path);
  EXPECT_TRUE(indexed.indexed(kind));
  EXPECT_FALSE(exact.indexed(kind));
  std::size_t shared = 0, queries = 0;
  for (const std::vector<float>& query : grouped_vectors(50, 9)) {
    const auto wanted = exact.nearest(query, kTop, kind), found = indexed.nearest(query, kTop, kind);
    EXPECT_EQ(found.size(), kTop);
    for (const Neighbour& one : found) {
      const auto same = std::ranges::find(wanted, one.number, &Neighbour::number);
      if (same == wanted.end()) continue;
      EXPECT_EQ(same->similarity, one.similarity);
      ++shared;
    }
    ++queries;
  }
  return static_cast<double>(shared) / static_cast<double>(queries * kTop);
}

TEST(VectorIndex, FindsNearlyAllNearestVectors) {
  const TemporaryDirectory files;
  const Vectors vectors = grouped_vectors(kCount, 1);
  for (const VectorFormat format : {VectorFormat::float32, VectorFormat::int8, VectorFormat::bits})
    for (const Similarity kind :
         {Similarity::cosine, Similarity::dot, Similarity::euclidean, Similarity::manhattan}) {
      if (format != VectorFormat::float32 && kind != Similarity::cosine) continue;
      const std::filesystem::path path = files.path() / "v.safetensors";
      write_vectors(path, vectors, {.format = format});
      std::size_t done = 0;
      write_vector_index(path, kind, [&](std::size_t now, std::size_t) { done = std::max(done, now); });
      EXPECT_EQ(done, kCount);
      EXPECT_GT(recall(path, kind), 0.97) << static_cast<int>(format) << " " << static_cast<int>(kind);
    }
  EXPECT_TRUE(StoredVectors(files.path() / "v.safetensors").indexed(Similarity::dot));  // bits have one order
}

TEST(VectorIndex, ComparesWithAllWhereItDoesNotServe) {
  const TemporaryDirectory files;
  const std::filesystem::path path = files.path() / "v.npy";
  const Vectors vectors = grouped_vectors(kCount, 2);
  write_vectors(path, vectors);
  write_vector_index(path);
  const StoredVectors stored(path), exact(path, {.index = false});
  EXPECT_FALSE(stored.indexed(Similarity::euclidean));
  for (const auto& [count, kind] :
       {std::pair(std::size_t{5}, Similarity::euclidean), {kCount, Similarity::cosine}}) {
    const auto found = stored.nearest(vectors[3], count, kind),
               wanted = exact.nearest(vectors[3], count, kind);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].number, wanted[i].number);
  }
  write_vectors(files.path() / "one.npy", {{1, 2}});
  write_vector_index(files.path() / "one.npy");
  EXPECT_EQ(StoredVectors(files.path() / "one.npy").nearest({1, 2}, 5).size(), 1);
}

TEST(VectorIndex, RefusesAnIndexOfOtherVectors) {
  const TemporaryDirectory files;
  const std::filesystem::path path = files.path() / "v.safetensors",
                              index = files.path() / "v.safetensors.hnsw";
  write_vectors(path, grouped_vectors(kCount, 3));
  write_vector_index(path);
  const std::string old = read_file(index);
  write_vectors(path, grouped_vectors(kCount, 4));
  EXPECT_FALSE(std::filesystem::exists(index));
  files.file("v.safetensors.hnsw", old);
  EXPECT_ERROR("it is not the index of these vectors: build it again with --index", StoredVectors{path});
  EXPECT_EQ(StoredVectors(path, {.index = false}).count(), kCount);
  write_vectors(path, grouped_vectors(70, 4));
  files.file("v.safetensors.hnsw", old);
  EXPECT_ERROR("expected the tensor links of an index", StoredVectors{path});
  EXPECT_ERROR("ends with .safetensors or .npy", write_vector_index(index));
}

TEST(VectorIndex, RefusesDamagedFiles) {
  const TemporaryDirectory files;
  const std::filesystem::path path = files.path() / "v.safetensors",
                              index = files.path() / "v.safetensors.hnsw";
  const Vectors vectors = grouped_vectors(kCount, 5);
  write_vectors(path, vectors);
  write_vector_index(path);
  const std::string whole = read_file(index);
  for (std::size_t length = 0; length < whole.size(); length += 9973) {
    files.file("v.safetensors.hnsw", whole.substr(0, length));
    EXPECT_ERROR("v.safetensors.hnsw", StoredVectors{path});
  }
  std::string damaged = whole;  // links and entries to a row far beyond the last
  std::fill(damaged.end() - 4 * static_cast<std::ptrdiff_t>(kCount), damaged.end(), '\x70');
  files.file("v.safetensors.hnsw", damaged);
  const StoredVectors stored(path);
  EXPECT_ERROR("the file is damaged", [&] {
    for (const std::vector<float>& vector : vectors) stored.nearest(vector, 3);
  }());
}

TEST(VectorIndex, RefusesVectorsThatHaveNoOrder) {
  const TemporaryDirectory files;
  write_vectors(files.path() / "bits.npy", grouped_vectors(50, 6), {.format = VectorFormat::bits});
  EXPECT_ERROR("bits have no distances",
               write_vector_index(files.path() / "bits.npy", Similarity::euclidean));
  write_vectors(files.path() / "v.npy", grouped_vectors(50, 6));
  std::string damaged = read_file(files.path() / "v.npy");
  const float bad = NAN;
  std::memcpy(damaged.data() + damaged.size() - sizeof bad, &bad, sizeof bad);
  files.file("v.npy", damaged);
  EXPECT_ERROR("vector 50 has a number that is not finite", write_vector_index(files.path() / "v.npy"));
  EXPECT_FALSE(std::filesystem::exists(files.path() / "v.npy.hnsw"));
}

}  // namespace
}  // namespace attend
