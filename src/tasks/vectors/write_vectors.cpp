// Vectors as files: what StoredVectors (stored_vectors.cpp) reads.
#include <attend/vectors.h>

#include "base/error.h"
#include "formats/tensors/npy.h"
#include "formats/tensors/safetensors.h"
#include "tasks/vectors/vector_bits.h"
#include "tasks/vectors/vector_graph.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

// The tensors of a file, with the memory that they view.
struct VectorTensors {
  std::map<std::string, TensorView> views;
  std::list<std::vector<std::byte>> memory;

  template <class T>
  std::span<T> add(const std::string& name, DType type, const std::vector<std::int64_t>& shape) {
    TensorView view{type, shape, {}};
    std::vector<std::byte>& bytes = memory.emplace_back(view.count() * sizeof(T));
    view.data = bytes;
    views.emplace(name, view);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

void check_vectors(const std::vector<std::vector<float>>& vectors, const WriteVectorsOptions& options,
                   const std::string& source) {
  if (vectors.empty() || vectors.front().empty())
    fail("{}: expected at least one vector, found none", source);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    if (vectors[i].size() != vectors.front().size())
      fail("{}: expected vectors of {} numbers, found {} in vector {}", source, vectors.front().size(),
           vectors[i].size(), i + 1);
    if (!std::ranges::all_of(vectors[i], [](float x) { return std::isfinite(x); }))
      fail("{}: vector {} has a number that is not finite", source, i + 1);
  }
  for (const std::size_t count : {options.texts.size(), options.lines.size()})
    if (count != 0 && count != vectors.size())
      fail("{}: expected a text and a line for each of {} vectors, found {}", source, vectors.size(), count);
}

void add_int8(const std::vector<std::vector<float>>& vectors, const std::vector<std::int64_t>& shape,
              VectorTensors& tensors) {
  auto number = tensors.add<std::int8_t>("vectors", DType::i8, shape).begin();
  auto scale = tensors.add<float>("scales", DType::f32, {shape[0]}).begin();
  for (const std::vector<float>& vector : vectors) {
    const Int8Vector packed = as_int8(vector);
    *scale++ = packed.scale;
    number = std::ranges::copy(packed.numbers, number).out;
  }
}

void add_vectors(const std::vector<std::vector<float>>& vectors, VectorFormat format,
                 VectorTensors& tensors) {
  const auto count = std::ssize(vectors), size = std::ssize(vectors.front());
  switch (format) {
    case VectorFormat::float32: {
      auto to = tensors.add<float>("vectors", DType::f32, {count, size}).begin();
      for (const std::vector<float>& vector : vectors) to = std::ranges::copy(vector, to).out;
      break;
    }
    case VectorFormat::int8:
      add_int8(vectors, {count, size}, tensors);
      break;
    case VectorFormat::bits: {
      auto to = tensors.add<std::uint8_t>("vectors", DType::u8, {count, (size + 7) / 8}).begin();
      for (const std::vector<float>& vector : vectors) to = std::ranges::copy(signs_of(vector), to).out;
    }
  }
}

// The texts end to end, and where each of them ends.
void add_texts(const std::vector<std::string>& texts, VectorTensors& tensors) {
  std::int64_t bytes = 0;
  auto end = tensors.add<std::int64_t>("text_ends", DType::i64, {std::ssize(texts)}).begin();
  for (const std::string& text : texts) *end++ = bytes += std::ssize(text);
  auto to = tensors.add<char>("texts", DType::u8, {bytes}).begin();
  for (const std::string& text : texts) to = std::ranges::copy(text, to).out;
}

void write_table(const std::filesystem::path& path, const std::vector<std::vector<float>>& vectors,
                 VectorFormat format) {
  if (format == VectorFormat::int8)
    fail(
        "{}: a .npy file has no place for the scales of int8: expected float32 or bits, or a .safetensors "
        "file",
        path.string());
  if (format == VectorFormat::bits && vectors.front().size() % 8 != 0)
    fail(
        "{}: a .npy file does not say how many bits of its bytes count: expected a multiple of 8, found {}; "
        "or use a .safetensors file",
        path.string(), vectors.front().size());
  VectorTensors tensors;
  add_vectors(vectors, format, tensors);
  write_npy(path, tensors.views.at("vectors"));
}

}  // namespace

void v1::write_vectors(const std::filesystem::path& path, const std::vector<std::vector<float>>& vectors,
                       const WriteVectorsOptions& options) {
  check_vectors(vectors, options, path.string());
  std::filesystem::remove(VectorGraph::path_of(path));  // it is of the vectors that are replaced
  if (path.extension() == ".npy") return write_table(path, vectors, options.format);
  if (path.extension() != ".safetensors")
    fail("{}: expected a name that ends with .safetensors or .npy", path.string());
  VectorTensors tensors;
  add_vectors(vectors, options.format, tensors);
  if (!options.texts.empty()) add_texts(options.texts, tensors);
  if (!options.lines.empty())
    std::ranges::copy(options.lines,
                      tensors.add<std::int64_t>("lines", DType::i64, {std::ssize(options.lines)}).begin());
  if (!options.sample.empty())
    std::ranges::copy(options.sample,
                      tensors.add<float>("sample", DType::f32, {std::ssize(options.sample)}).begin());
  write_safetensors(path, tensors.views, {{"dimensions", std::to_string(vectors.front().size())}});
}

}  // namespace attend
