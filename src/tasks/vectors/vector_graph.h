// A graph over the rows of a file of vectors, in which a search follows links to ever more similar rows
// (HNSW; Malkov & Yashunin 2016, arXiv:1603.09320). It is a file of its own and has no vectors, so it is
// small, and a change of the vectors cannot make a wrong similarity.
#pragma once

#include "tasks/vectors/stored_rows.h"

namespace attend {

class VectorGraph {
 public:
  // v.safetensors.hnsw, for v.safetensors.
  static std::filesystem::path path_of(const std::filesystem::path& vectors);

  static void write(const StoredRows& rows, Similarity kind, const OnProgress& on_progress);

  // None if there is no file. Error for one that is damaged or that was made for other vectors.
  static std::optional<VectorGraph> open(const StoredRows& rows);

  // Whether it was made for this similarity; bits have only one.
  bool serves(const StoredRows& rows, Similarity kind) const {
    return rows.format == VectorFormat::bits || kind == kind_;
  }

  // About the `width` best rows, best first. The larger the width, the fewer it misses.
  std::vector<Neighbour> nearest(const StoredRows& rows, const RowQuery& query, std::size_t width) const;

 private:
  explicit VectorGraph(TensorFile file) : file_(std::move(file)) {}

  TensorFile file_;
  std::string source_;
  Similarity kind_ = Similarity::cosine;
  std::span<const std::int32_t> links_;    // [rows, kLinks]; -1 after the last link of a row
  std::span<const std::int32_t> entries_;  // rows where searches begin
};

constexpr std::size_t kLinks = 32;

struct GraphTensors {
  std::vector<std::int32_t> links, entries;
};

// By hnswlib.
GraphTensors build_graph(const StoredRows& rows, Similarity kind, const OnProgress& on_progress);

}  // namespace attend
