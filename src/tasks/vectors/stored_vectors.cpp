// An exact search in a mapped file of vectors.
#include <attend/vectors.h>

#include "base/error.h"
#include "base/parallel.h"
#include "base/utf8.h"
#include "formats/json/json.h"
#include "formats/tensors/npy.h"
#include "formats/tensors/safetensors.h"
#include "kernels/search.h"
#include "tasks/vectors/vector_bits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <mutex>
#include <numeric>

namespace attend {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;               // what a thread compares at once
constexpr std::size_t kRescored = 10, kMinRescored = 100;  // bits: how many are compared by numbers
constexpr float kMinSampleSimilarity = 0.9f;  // 8-bit and 4-bit weights stay above it, another model does not

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

bool better(const Neighbour& a, const Neighbour& b) {
  return a.similarity > b.similarity || (a.similarity == b.similarity && a.number < b.number);
}

void keep_best_neighbours(std::vector<Neighbour>& all, std::size_t count) {
  count = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(), better);
  all.resize(count);
}

// The best of [0, rows): compare(begin, end, scores) writes the scores of a piece. Error for a score that is
// not finite.
std::vector<Neighbour> best_rows(std::size_t rows, std::size_t row_bytes, std::size_t max_count,
                                 const std::function<void(std::size_t, std::size_t, float*)>& compare,
                                 const std::string& source) {
  std::vector<Neighbour> best;
  std::mutex mutex;
  const std::size_t grain = std::max<std::size_t>(64, kPieceBytes / row_bytes);
  parallel_for(rows, grain, [&](std::size_t begin, std::size_t end) {
    std::vector<float> scores(end - begin);
    compare(begin, end, scores.data());
    std::vector<Neighbour> piece;
    float least = -INFINITY;  // of the best ones, once there are enough
    for (std::size_t i = begin; i < end; ++i) {
      const float score = scores[i - begin];
      if (!std::isfinite(score))
        fail("{}: vector {} has a number that is not finite or too large: the file is damaged", source,
             i + 1);
      if (score <= least) continue;
      piece.push_back({i, score});
      if (piece.size() < 2 * max_count) continue;
      keep_best_neighbours(piece, max_count);
      least = piece.back().similarity;
    }
    const std::lock_guard lock(mutex);
    best.insert(best.end(), piece.begin(), piece.end());
    keep_best_neighbours(best, max_count);
  });
  return best;
}

}  // namespace

struct StoredVectors::State {
  std::map<std::string, std::string> metadata;
  TensorFile file;
  std::string source;
  VectorFormat format = VectorFormat::float32;
  std::size_t count = 0, size = 0, row_bytes = 0;
  const std::byte* rows = nullptr;
  std::span<const float> scales, sample;
  std::span<const std::int64_t> lines, text_ends;
  std::string_view texts;

  explicit State(const std::filesystem::path& path)
      : file(open_vectors(path, metadata)), source(path.string()) {
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
    lines = list<std::int64_t>("lines", DType::i64, count);
    sample = list<float>("sample", DType::f32, size);
    text_ends = list<std::int64_t>("text_ends", DType::i64, count);
    if (const TensorView* const found = find("texts"))
      texts = {reinterpret_cast<const char*>(found->data.data()), found->data.size()};
  }

  const TensorView* find(const std::string& name) const {
    const auto found = file.tensors().find(name);
    return found == file.tensors().end() ? nullptr : &found->second;
  }

  void read_format(const TensorView& vectors) {
    switch (vectors.type) {
      case DType::f32:
        return;
      case DType::i8:
        format = VectorFormat::int8;
        scales = list<float>("scales", DType::f32, count);
        if (scales.empty())
          fail("{}: expected the tensor scales, with a number for each int8 vector", source);
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
  std::size_t read_dimensions(std::size_t bytes) const {
    const auto found = metadata.find("dimensions");
    if (found == metadata.end()) return bytes * 8;
    const std::string& text = found->second;
    std::size_t dimensions = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dimensions);
    if (error != std::errc() || end != text.data() + text.size() || (dimensions + 7) / 8 != bytes)
      fail("{}: dimensions: expected {} to {}, found {}", source, bytes * 8 - 7, bytes * 8,
           shown(Json(text)));
    return dimensions;
  }

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

  // The cosine or the product of a query and the signs (1 or -1) of a vector.
  float compare_signs(const std::vector<float>& query, std::size_t number, Similarity kind) const {
    const auto* const bits = reinterpret_cast<const std::uint8_t*>(rows + number * row_bytes);
    double product = 0;
    for (std::size_t j = 0; j < size; ++j)
      product += (bits[j / 8] & (0x80 >> j % 8)) != 0 ? query[j] : -query[j];
    if (kind == Similarity::dot) return static_cast<float>(product);
    const double lengths = double{length_of(query)} * std::sqrt(static_cast<double>(size));
    return lengths == 0 ? 0 : static_cast<float>(product / lengths);
  }

  std::vector<Neighbour> nearest_bits(const std::vector<float>& query, std::size_t max_count,
                                      Similarity kind) const {
    if (kind != Similarity::cosine && kind != Similarity::dot)
      fail("{}: bits have no distances: expected the similarity cosine or dot", source);
    const std::vector<std::uint8_t> signs = signs_of(query);
    const auto compare = [&](std::size_t begin, std::size_t end, float* scores) {
      std::vector<std::int32_t> differences(end - begin);
      kernels::search_kernels().count_differences(
          signs.data(), reinterpret_cast<const std::uint8_t*>(rows + begin * row_bytes),
          static_cast<std::int64_t>(row_bytes), static_cast<std::int64_t>(end - begin), differences.data());
      std::ranges::transform(differences, scores, [](std::int32_t n) { return static_cast<float>(-n); });
    };
    std::vector<Neighbour> best = best_rows(
        count, row_bytes, std::max(kMinRescored, std::min(count, max_count) * kRescored), compare, source);
    for (Neighbour& each : best) each.similarity = compare_signs(query, each.number, kind);
    keep_best_neighbours(best, max_count);
    return best;
  }

  std::vector<Neighbour> nearest(const std::vector<float>& query, std::size_t max_count,
                                 Similarity kind) const {
    const kernels::SearchQuery asked{comparison_of(kind), query.data(), static_cast<std::int64_t>(size),
                                     length_of(query)};
    const auto compare = [&](std::size_t begin, std::size_t end, float* scores) {
      const auto n = static_cast<std::int64_t>(end - begin);
      const std::byte* const from = rows + begin * row_bytes;
      if (format == VectorFormat::int8)
        kernels::search_kernels().compare_int8(asked, reinterpret_cast<const std::int8_t*>(from),
                                               scales.data() + begin, n, scores);
      else
        kernels::search_kernels().compare_floats(asked, reinterpret_cast<const float*>(from), n, scores);
    };
    return best_rows(count, row_bytes, std::min(count, max_count), compare, source);
  }
};

StoredVectors::StoredVectors(const std::filesystem::path& path)
    : state_([&] {
        const ErrorScope scope(ErrorKind::input);
        return std::make_shared<const State>(path);
      }()) {}

std::size_t StoredVectors::count() const {
  return state_->count;
}

std::size_t StoredVectors::size() const {
  return state_->size;
}

VectorFormat StoredVectors::format() const {
  return state_->format;
}

std::optional<std::string> StoredVectors::text(std::size_t number) const {
  const auto ends = state_->text_ends;
  if (ends.empty()) return {};
  if (number >= ends.size()) fail("expected one of {} vectors, found {}", ends.size(), number);
  const std::int64_t begin = number == 0 ? 0 : ends[number - 1], end = ends[number];
  if (begin < 0 || end < begin || end > std::ssize(state_->texts))
    fail("{}: the text of vector {} is not within the {} bytes of texts: the file is damaged", state_->source,
         number + 1, state_->texts.size());
  const std::string_view text =
      state_->texts.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  if (find_invalid_utf8(text))
    fail("{}: the text of vector {} is not valid UTF-8: the file is damaged", state_->source, number + 1);
  return std::string(text);
}

std::int64_t StoredVectors::line(std::size_t number) const {
  return number < state_->lines.size() ? state_->lines[number] : static_cast<std::int64_t>(number) + 1;
}

std::vector<Neighbour> StoredVectors::nearest(const std::vector<float>& query, std::size_t max_count,
                                              Similarity kind) const {
  const ErrorScope scope(ErrorKind::input);
  if (query.size() != state_->size)
    fail("{}: it has vectors of {} numbers, but the query's has {}", state_->source, state_->size,
         query.size());
  if (!std::ranges::all_of(query, [](float x) { return std::isfinite(x); }))
    fail("the query's vector has a number that is not finite");
  if (max_count == 0) return {};
  return state_->format == VectorFormat::bits ? state_->nearest_bits(query, max_count, kind)
                                              : state_->nearest(query, max_count, kind);
}

void StoredVectors::check(Embedder& embedder, const EmbedOptions& options) const {
  const ErrorScope scope(ErrorKind::input);
  EmbedOptions how = options;
  how.prompt = "";
  how.on_progress = {};
  const std::vector<float> sample = embedder.embed({sample_text}, how).front();
  if (sample.size() != size())
    fail(
        "{}: it has vectors of {} numbers, but the model's have {}: expected the model and the dimensions "
        "that "
        "it was made with",
        state_->source, size(), sample.size());
  if (state_->sample.empty()) return;
  const float same = cosine_similarity(sample, {state_->sample.begin(), state_->sample.end()});
  if (!(same >= kMinSampleSimilarity))
    fail(
        "{}: it was made with another model or other settings: its vector of a sample text and the model's "
        "have a cosine of {:.3f}",
        state_->source, same);
}

}  // namespace attend
