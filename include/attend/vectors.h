// Vectors in a file, and a search in it that embeds only the query.
//
//   attend::Embedder embedder("all-MiniLM-L6-v2");
//   attend::write_vectors("v.safetensors", embedder.embed(texts), {.texts = texts});
//   attend::StoredVectors stored("v.safetensors");
//   for (const auto& [number, similarity] : stored.nearest(embedder.embed({"a question"}).front(), 5))
//     std::cout << similarity << " " << *stored.text(number) << "\n";
#pragma once

#include <attend/embedder.h>
#include <attend/export.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attend {
inline namespace v1 {

enum class VectorFormat {
  float32,
  int8,  // the integers from -127 to 127 times a scale for each vector: a quarter
  bits,  // the signs: a thirty-second
};

struct WriteVectorsOptions {
  VectorFormat format = VectorFormat::float32;
  // One for each vector, or none: what a search shows, and the number of the line that it comes from.
  std::vector<std::string> texts = {};
  std::vector<std::int64_t> lines = {};
  // The vector of StoredVectors::sample_text, by which check() recognizes the model. May be empty.
  std::vector<float> sample = {};
};

// Writes a file that ends with .safetensors, or with .npy, which holds the vectors alone, as float32 or bits.
// The file is replaced when it is complete; an index of the old one is removed. Throws Error if there are no
// vectors, if they differ in size, or if a number is not finite.
ATTEND_API void write_vectors(const std::filesystem::path& path,
                              const std::vector<std::vector<float>>& vectors,
                              const WriteVectorsOptions& options = {});

// Builds the index of a file of vectors, for searches by this similarity: a graph in which a search follows
// links to nearer vectors, instead of comparing with all of them (HNSW; Malkov & Yashunin 2016,
// arXiv:1603.09320). It is kept next to the file, with .hnsw after its name, and replaced when it is
// complete: 128 bytes for each vector. Two builds may differ a little.
ATTEND_API void write_vector_index(const std::filesystem::path& path, Similarity kind = Similarity::cosine,
                                   const OnProgress& on_progress = {});

struct StoredVectorsOptions {
  bool index = true;  // false: leaves out the index of the file, if there is one
};

// A mapped file of vectors. Copies share it. All functions are thread-safe.
class ATTEND_API StoredVectors {
 public:
  // Throws Error for a file that is not one of write_vectors or of numpy.save, or that is damaged, and for an
  // index of other vectors.
  explicit StoredVectors(const std::filesystem::path& path, const StoredVectorsOptions& options = {});

  std::size_t count() const;
  std::size_t size() const;  // dimensions of a vector
  VectorFormat format() const;
  bool indexed(Similarity kind) const;  // whether the file has an index for searches by this similarity
  std::optional<std::string> text(std::size_t number) const;  // absent: the file has none
  std::int64_t line(std::size_t number) const;                // without lines in the file: number + 1

  // The `max_count` most similar vectors, best first; those of equal similarity in their order. It compares
  // with every vector; or if the file is indexed, with few, and may miss some. If these are bits, it chooses
  // ten times as many (at least 100) by the number of equal signs, and returns the best of these by the
  // query's numbers: their cosine or product with the signs. Throws Error for a query of another size or with
  // a number that is not finite, for such a vector in the file, and for distances from bits.
  std::vector<Neighbour> nearest(const std::vector<float>& query, std::size_t max_count,
                                 Similarity kind = Similarity::cosine) const;

  // Throws Error if the embedder, with these options, makes vectors of another size, or another vector of
  // sample_text than the one in the file.
  void check(Embedder& embedder, const EmbedOptions& options = {}) const;
  static constexpr const char* sample_text = "a sample, to recognize the model";

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace v1
}  // namespace attend
