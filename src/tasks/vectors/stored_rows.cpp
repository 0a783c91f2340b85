#include "tasks/vectors/stored_rows.h"

#include "formats/tensors/npy.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace attend {
namespace {

TensorFile open_vectors(const std::filesystem::path& path, std::map<std::string, std::string>& metadata) {
  if (path.extension() == ".npy") return NpyFile(path);
  if (path.extension() != ".safetensors")
    fail("{}: expected a name that ends with .safetensors or .npy", path.string());
  SafetensorsFile file(path);
  metadata = file.metadata();
  return file;
}

kernels::Comparison comparison_of(Similarity kind) {
  switch (kind) {
    case Similarity::cosine:
      return kernels::Comparison::cosine;
    case Similarity::dot:
      return kernels::Comparison::dot;
    case Similarity::euclidean:
      return kernels::Comparison::euclidean;
    case Similarity::manhattan:
      return kernels::Comparison::manhattan;
  }
  fail("unknown similarity");
}

float length_of(std::span<const float> vector) {
  return static_cast<float>(std::sqrt(std::transform_reduce(vector.begin(), vector.end(), 0.0, std::plus<>(),
                                                            [](float x) { return double{x} * x; })));
}

}  // namespace

bool better(const Neighbour& a, const Neighbour& b) {
  return a.similarity > b.similarity || (a.similarity == b.similarity && a.number < b.number);
}

void keep_best_neighbours(std::vector<Neighbour>& all, std::size_t count) {
  count = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(), better);
  all.resize(count);
}

RowQuery row_query(std::span<const float> numbers, Similarity kind) {
  return {{comparison_of(kind), numbers.data(), std::ssize(numbers), length_of(numbers)}};
}

StoredRows::StoredRows(const std::filesystem::path& from)
    : file(open_vectors(from, metadata)), path(from), source(from.string()) {
  const TensorView* const vectors = find("vectors");
  if (vectors == nullptr || vectors->shape.size() != 2 || vectors->count() == 0)
    fail(
        "{}: expected the tensor vectors, a table with a vector in each row, as `attend embed --output` "
        "writes it",
        source);
  count = static_cast<std::size_t>(vectors->shape[0]);
  size = static_cast<std::size_t>(vectors->shape[1]);
  row_bytes = size * size_of(vectors->type);
  rows = vectors->data.data();
  read_format(*vectors);
  if (reinterpret_cast<std::uintptr_t>(rows) % size_of(vectors->type) != 0)
    fail("{}: vectors: expected numbers at a multiple of their size in the file", source);
}

const TensorView* StoredRows::find(const std::string& name) const {
  const auto found = file.tensors().find(name);
  return found == file.tensors().end() ? nullptr : &found->second;
}

void StoredRows::read_format(const TensorView& vectors) {
  switch (vectors.type) {
    case DType::f32:
      return;
    case DType::i8:
      format = VectorFormat::int8;
      scales = list<float>("scales", DType::f32, count);
      if (scales.empty()) fail("{}: expected the tensor scales, with a number for each int8 vector", source);
      return;
    case DType::u8:
      format = VectorFormat::bits;
      size = read_dimensions(row_bytes);
      return;
    default:
      fail("{}: vectors: expected F32, I8 or U8 (bits), found {}", source, vectors.stored_as());
  }
}

// The number of bits of a vector of this many bytes.
std::size_t StoredRows::read_dimensions(std::size_t bytes) const {
  const auto found = metadata.find("dimensions");
  if (found == metadata.end()) return bytes * 8;
  const std::string& text = found->second;
  std::size_t dimensions = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dimensions);
  if (error != std::errc() || end != text.data() + text.size() || (dimensions + 7) / 8 != bytes)
    fail("{}: dimensions: expected {} to {}, found {}", source, bytes * 8 - 7, bytes * 8, shown(Json(text)));
  return dimensions;
}

void StoredRows::compare(const RowQuery& query, std::size_t begin, std::size_t end, float* scores) const {
  const auto n = static_cast<std::int64_t>(end - begin);
  const std::byte* const from = rows + begin * row_bytes;
  const kernels::SearchKernels& kernels = kernels::search_kernels();
  switch (format) {
    case VectorFormat::float32:
      return kernels.compare_floats(query.numbers, reinterpret_cast<const float*>(from), n, scores);
    case VectorFormat::int8:
      return kernels.compare_int8(query.numbers, reinterpret_cast<const std::int8_t*>(from),
                                  scales.data() + begin, n, scores);
    case VectorFormat::bits: {
      std::int32_t differences[256];
      for (std::size_t i = begin; i < end; i += std::size(differences)) {
        const std::size_t some = std::min(std::size(differences), end - i);
        kernels.count_differences(query.signs, bits(i), static_cast<std::int64_t>(row_bytes),
                                  static_cast<std::int64_t>(some), differences);
        for (std::size_t j = 0; j < some; ++j) *scores++ = static_cast<float>(-differences[j]);
      }
    }
  }
}

void StoredRows::check_score(float score, std::size_t row) const {
  if (!std::isfinite(score))
    fail("{}: vector {} has a number that is not finite or too large: the file is damaged", source, row + 1);
}

}  // namespace attend
