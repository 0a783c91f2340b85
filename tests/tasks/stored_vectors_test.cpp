// Vectors in files: every format against `nearest`, and files that are damaged.
#include <attend/threads.h>
#include <attend/vectors.h>

#include "base/file.h"
#include "formats/tensors/npy.h"
#include "formats/tensors/safetensors.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace attend {
namespace {

using Vectors = std::vector<std::vector<float>>;

Vectors random_vectors(std::size_t count, std::size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Vectors vectors(count, std::vector<float>(size));
  for (std::vector<float>& vector : vectors)
    for (float& x : vector) x = normal(generator);
  return vectors;
}

// Sums of float32 numbers, against sums in double precision.
float tolerance(float similarity) {
  return 1e-5f * std::max(1.0f, std::abs(similarity));
}

constexpr Similarity kKinds[] = {Similarity::cosine, Similarity::dot, Similarity::euclidean,
                                 Similarity::manhattan};

TEST(StoredVectors, FindsTheSameAsNearest) {
  const TemporaryDirectory files;
  Vectors vectors = random_vectors(5000, 33, 1);
  vectors[4000] = vectors[70];  // equal ones keep their order
  for (const char* name : {"v.safetensors", "v.npy"}) {
    write_vectors(files.path() / name, vectors);
    const StoredVectors stored(files.path() / name);
    EXPECT_EQ(stored.count(), 5000);
    EXPECT_EQ(stored.size(), 33);
    for (const std::vector<float>& query : {vectors[70], random_vectors(1, 33, 2).front()})
      for (const Similarity kind : kKinds) {
        const auto wanted = nearest(query, vectors, 20, kind), found = stored.nearest(query, 20, kind);
        ASSERT_EQ(found.size(), 20);
        for (std::size_t i = 0; i < 20; ++i) {
          EXPECT_EQ(found[i].number, wanted[i].number);
          EXPECT_NEAR(found[i].similarity, wanted[i].similarity, tolerance(wanted[i].similarity));
        }
      }
    EXPECT_EQ(stored.nearest(vectors[0], 9000).size(), 5000);
    EXPECT_EQ(stored.nearest(vectors[0], 0).size(), 0);
  }
}

TEST(StoredVectors, DoesNotDependOnThreads) {
  const TemporaryDirectory files;
  const Vectors vectors = random_vectors(20000, 40, 3);
  for (const VectorFormat format : {VectorFormat::float32, VectorFormat::int8, VectorFormat::bits}) {
    write_vectors(files.path() / "v.safetensors", vectors, {.format = format});
    const StoredVectors stored(files.path() / "v.safetensors");
    std::vector<std::vector<Neighbour>> found;
    for (const std::size_t threads : {1, 2}) {
      set_thread_count(threads);
      found.push_back(stored.nearest(vectors[5], 50));
    }
    for (std::size_t i = 0; i < 50; ++i) {
      EXPECT_EQ(found[0][i].number, found[1][i].number);
      EXPECT_EQ(found[0][i].similarity, found[1][i].similarity);
    }
  }
  set_thread_count(0);
}

TEST(StoredVectors, RoundsToIntegersAndToSigns) {
  const TemporaryDirectory files;
  Vectors vectors = random_vectors(300, 37, 4);
  vectors[3].assign(37, 0.0f);
  const std::vector<float> query = random_vectors(1, 37, 5).front();
  Vectors integers = vectors, signs = vectors;
  for (std::vector<float>& vector : integers) {
    float largest = 0;
    for (const float x : vector) largest = std::max(largest, std::abs(x));
    for (float& x : vector)
      x = largest == 0 ? 0 : static_cast<float>(std::round(double{x} / largest * 127)) * (largest / 127);
  }
  for (std::vector<float>& vector : signs)
    for (float& x : vector) x = x > 0 ? 1.0f : -1.0f;
  for (const auto& [format, rounded] :
       {std::pair(VectorFormat::int8, integers), std::pair(VectorFormat::bits, signs)}) {
    write_vectors(files.path() / "v.safetensors", vectors, {.format = format});
    const StoredVectors stored(files.path() / "v.safetensors");
    EXPECT_EQ(stored.size(), 37);
    EXPECT_EQ(stored.format(), format);
    for (const Similarity kind : {Similarity::cosine, Similarity::dot}) {
      const auto wanted = nearest(query, rounded, 300, kind), found = stored.nearest(query, 300, kind);
      for (std::size_t i = 0; i < 300; ++i)
        EXPECT_NEAR(found[i].similarity, wanted[i].similarity, tolerance(wanted[i].similarity));
    }
  }
  EXPECT_ERROR("bits have no distances: expected the similarity cosine or dot",
               StoredVectors(files.path() / "v.safetensors").nearest(query, 3, Similarity::euclidean));
}

TEST(StoredVectors, KeepsTextsAndLines) {
  const TemporaryDirectory files;
  write_vectors(files.path() / "v.safetensors", {{1, 0}, {0, 1}, {1, 1}},
                {.texts = {"eins", "", "größer"}, .lines = {2, 5, 9}});
  const StoredVectors stored(files.path() / "v.safetensors");
  EXPECT_EQ(stored.text(0), "eins");
  EXPECT_EQ(stored.text(1), "");
  EXPECT_EQ(stored.text(2), "größer");
  EXPECT_EQ(stored.line(2), 9);
  write_vectors(files.path() / "v.npy", {{1, 0}, {0, 1}});
  EXPECT_EQ(StoredVectors(files.path() / "v.npy").text(1), std::nullopt);
  EXPECT_EQ(StoredVectors(files.path() / "v.npy").line(1), 2);
}

TEST(StoredVectors, RefusesWhatCannotBeKept) {
  const TemporaryDirectory files;
  const auto at = [&](const char* name) { return files.path() / name; };
  EXPECT_ERROR("expected at least one vector", write_vectors(at("v.npy"), {}));
  EXPECT_ERROR("expected vectors of 2 numbers, found 1 in vector 2",
               write_vectors(at("v.npy"), {{1, 2}, {1}}));
  EXPECT_ERROR("vector 2 has a number that is not finite", write_vectors(at("v.npy"), {{1}, {NAN}}));
  EXPECT_ERROR("no place for the scales of int8",
               write_vectors(at("v.npy"), {{1}}, {.format = VectorFormat::int8}));
  EXPECT_ERROR("expected a multiple of 8, found 1",
               write_vectors(at("v.npy"), {{1}}, {.format = VectorFormat::bits}));
  EXPECT_ERROR("a text and a line for each of 1 vectors, found 2",
               write_vectors(at("v.safetensors"), {{1}}, {.texts = {"a", "b"}}));
  EXPECT_ERROR("ends with .safetensors or .npy", write_vectors(at("v.txt"), {{1}}));
  EXPECT_EQ(files.count(), 0);
}

TEST(StoredVectors, RefusesDamagedFiles) {
  const TemporaryDirectory files;
  const Vectors vectors = random_vectors(50, 16, 6);
  for (const char* name : {"v.safetensors", "v.npy"}) {
    write_vectors(files.path() / name, vectors);
    const std::string whole = read_file(files.path() / name);
    for (std::size_t length = 0; length < whole.size(); length += 13)
      EXPECT_ERROR(name, StoredVectors(files.file(name, whole.substr(0, length))));
    EXPECT_ERROR(name, StoredVectors(files.file(name, whole + "x")));
    const float bad = INFINITY;
    std::string damaged = whole;  // number 15 of vector 48
    std::memcpy(damaged.data() + damaged.size() - 17 * sizeof bad, &bad, sizeof bad);
    EXPECT_ERROR("vector 49 has a number that is not finite or too large: the file is damaged",
                 StoredVectors(files.file(name, damaged)).nearest(vectors[0], 3));
  }
  write_vectors(files.path() / "v.npy", vectors);
  const StoredVectors stored(files.path() / "v.npy");
  EXPECT_ERROR("it has vectors of 16 numbers, but the query's has 2", stored.nearest({1, 2}, 3));
  EXPECT_ERROR("the query's vector has a number that is not finite",
               stored.nearest(std::vector<float>(16, NAN), 3));
}

TensorView stored_view(DType type, std::vector<std::int64_t> shape, std::span<const std::byte> bytes) {
  TensorView view{type, std::move(shape), {}};
  view.data = bytes.first(view.count() * size_of(type));
  return view;
}

TEST(StoredVectors, RefusesTensorsThatDoNotFit) {
  const TemporaryDirectory files;
  const std::vector<std::byte> zeros(64);
  const auto open = [&](const std::map<std::string, TensorView>& tensors,
                        const std::string& dimensions = "") {
    std::map<std::string, std::string> metadata;
    if (!dimensions.empty()) metadata["dimensions"] = dimensions;
    write_safetensors(files.path() / "v.safetensors", tensors, metadata);
    return StoredVectors(files.path() / "v.safetensors");
  };
  const TensorView floats = stored_view(DType::f32, {2, 3}, zeros),
                   bytes = stored_view(DType::u8, {2, 2}, zeros);
  EXPECT_ERROR("expected the tensor vectors", open({{"weight", floats}}));
  EXPECT_ERROR("expected the tensor vectors, a table",
               open({{"vectors", stored_view(DType::f32, {6}, zeros)}}));
  EXPECT_ERROR("expected F32, I8 or U8 (bits), found F16",
               open({{"vectors", stored_view(DType::f16, {2, 3}, zeros)}}));
  EXPECT_ERROR("expected the tensor scales", open({{"vectors", stored_view(DType::i8, {2, 3}, zeros)}}));
  EXPECT_ERROR("scales: expected 2 numbers of the type F32, found F32 [3]",
               open({{"vectors", stored_view(DType::i8, {2, 3}, zeros)},
                     {"scales", stored_view(DType::f32, {3}, zeros)}}));
  for (const char* dimensions : {"8", "17", "many", "-1"})
    EXPECT_ERROR("dimensions: expected 9 to 16", open({{"vectors", bytes}}, dimensions));
  EXPECT_EQ(open({{"vectors", bytes}}, "9").size(), 9);
  EXPECT_EQ(open({{"vectors", bytes}}).size(), 16);
  const std::int64_t ends[] = {3, 2};
  const TensorView wrong{DType::i64, {2}, std::as_bytes(std::span(ends))};
  const std::map<std::string, TensorView> tensors = {
      {"vectors", floats}, {"texts", stored_view(DType::u8, {4}, zeros)}, {"text_ends", wrong}};
  EXPECT_ERROR("the text of vector 2 is not within the 4 bytes of texts", open(tensors).text(1));
}

TEST(StoredVectors, ReadsWhatNumpySaves) {
  const TemporaryDirectory files;
  const auto npy = [](const std::string& header, std::size_t bytes) {
    std::string text("\x93NUMPY\x01\x00", 8);
    text += static_cast<char>(header.size());
    text += '\0';
    return text + header + std::string(bytes, '\0');
  };
  const auto open = [&](const std::string& header, std::size_t bytes) {
    return NpyFile(files.file("v.npy", npy(header, bytes)));
  };
  EXPECT_EQ(
      open("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24).tensors().at("vectors").shape,
      (std::vector<std::int64_t>{2, 3}));
  EXPECT_ERROR("expected 24 bytes for 2 x 3 numbers, found 23: it is cut off",
               open("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 23));
  EXPECT_ERROR("found \"<f8\": convert them",
               open("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 48));
  EXPECT_ERROR("found Fortran's order",
               open("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24));
  EXPECT_ERROR("a table, (rows, columns)",
               open("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", 24));
  EXPECT_ERROR("a size of",
               open("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 9999999999), }", 24));
  EXPECT_ERROR("begins with \\x93NUMPY", NpyFile(files.file("v.npy", "the lamp is on the table")));
}

TEST(StoredVectors, RecognizesTheModel) {
  const TemporaryDirectory files;
  const auto path = files.path() / "v.safetensors";
  Embedder embedder(test_data() / "tasks/masks");
  const std::vector<float> sample = embedder.embed({StoredVectors::sample_text}).front();
  write_vectors(path, {sample}, {.sample = sample});
  StoredVectors(path).check(embedder);
  EmbedOptions shorter;
  shorter.dimensions = 4;
  EXPECT_ERROR("but the model's have 4", StoredVectors(path).check(embedder, shorter));
  std::vector<float> other = sample;
  for (float& x : other) x = -x;
  write_vectors(path, {sample}, {.sample = other});
  EXPECT_ERROR("it was made with another model or other settings", StoredVectors(path).check(embedder));
}

}  // namespace
}  // namespace attend
