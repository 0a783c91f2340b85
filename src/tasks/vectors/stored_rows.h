// The rows of a mapped file of vectors, and how similar they are to a query.
#pragma once

#include <attend/vectors.h>

#include "base/error.h"
#include "formats/json/json.h"
#include "formats/tensors/safetensors.h"
#include "kernels/search.h"

#include <map>
#include <string>

namespace attend {

// What rows are compared with. It views numbers of others.
struct RowQuery {
  kernels::SearchQuery numbers;
  const std::uint8_t* signs = nullptr;  // for rows of bits, instead of the numbers
};

RowQuery row_query(std::span<const float> numbers, Similarity kind);

struct StoredRows {
  std::map<std::string, std::string> metadata;
  TensorFile file;
  std::filesystem::path path;
  std::string source;  // the path, for errors
  VectorFormat format = VectorFormat::float32;
  std::size_t count = 0, size = 0, row_bytes = 0;
  const std::byte* rows = nullptr;
  std::span<const float> scales;

  explicit StoredRows(const std::filesystem::path& path);

  const TensorView* find(const std::string& name) const;
  const std::uint8_t* bits(std::size_t row) const {
    return reinterpret_cast<const std::uint8_t*>(rows + row * row_bytes);
  }

  // scores [end - begin]: the similarity of each row; of bits, minus the number of different ones.
  void compare(const RowQuery& query, std::size_t begin, std::size_t end, float* scores) const;
  // Throws Error for a score that is not finite.
  void check_score(float score, std::size_t row) const;

  // A tensor with `expected` numbers; none if the file does not have it.
  template <class T>
  std::span<const T> list(const std::string& name, DType type, std::size_t expected) const {
    const TensorView* const found = find(name);
    if (found == nullptr) return {};
    if (found->type != type || found->shape.size() != 1 || found->count() != expected ||
        reinterpret_cast<std::uintptr_t>(found->data.data()) % sizeof(T) != 0)
      fail("{}: {}: expected {} numbers of the type {}, found {} {}", source, name, expected,
           attend::name(type), found->stored_as(), shown(Json(found->shape)));
    return {reinterpret_cast<const T*>(found->data.data()), expected};
  }

 private:
  void read_format(const TensorView& vectors);
  std::size_t read_dimensions(std::size_t bytes) const;
};

// Whether a comes before b in a result.
bool better(const Neighbour& a, const Neighbour& b);
void keep_best_neighbours(std::vector<Neighbour>& all, std::size_t count);

}  // namespace attend
