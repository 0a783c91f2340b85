// A search in a mapped file of vectors: exact, or through its graph.
#include <attend/vectors.h>

#include "base/parallel.h"
#include "base/utf8.h"
#include "tasks/vectors/stored_rows.h"
#include "tasks/vectors/vector_bits.h"
#include "tasks/vectors/vector_graph.h"

#include <algorithm>
#include <cmath>
#include <mutex>

namespace attend {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;               // what a thread compares at once
constexpr std::size_t kRescored = 10, kMinRescored = 100;  // bits: how many are compared by numbers
constexpr std::size_t kMinWidth = 200;                     // how many rows a search in the graph keeps
constexpr float kMinSampleSimilarity = 0.9f;  // 8-bit and 4-bit weights stay above it, another model does not

// Those of all rows, compared one after another. Error for a score that is not finite.
std::vector<Neighbour> best_rows(const StoredRows& rows, const RowQuery& query, std::size_t max_count) {
  std::vector<Neighbour> best;
  std::mutex mutex;
  const std::size_t grain = std::max<std::size_t>(64, kPieceBytes / rows.row_bytes);
  parallel_for(rows.count, grain, [&](std::size_t begin, std::size_t end) {
    std::vector<float> scores(end - begin);
    rows.compare(query, begin, end, scores.data());
    std::vector<Neighbour> piece;
    float min_score = -INFINITY;  // of the best ones, once there are enough
    for (std::size_t i = begin; i < end; ++i) {
      const float score = scores[i - begin];
      rows.check_score(score, i);
      if (score <= min_score) continue;
      piece.push_back({i, score});
      if (piece.size() < 2 * max_count) continue;
      keep_best_neighbours(piece, max_count);
      min_score = piece.back().similarity;
    }
    const std::lock_guard lock(mutex);
    best.insert(best.end(), piece.begin(), piece.end());
    keep_best_neighbours(best, max_count);
  });
  return best;
}

// The cosine or the product of a query and the signs (1 or -1) of a vector.
float compare_signs(const RowQuery& query, const std::uint8_t* bits, Similarity kind) {
  const auto size = static_cast<std::size_t>(query.numbers.width);
  double product = 0;
  for (std::size_t j = 0; j < size; ++j)
    product += (bits[j / 8] & (0x80 >> j % 8)) != 0 ? query.numbers.numbers[j] : -query.numbers.numbers[j];
  if (kind == Similarity::dot) return static_cast<float>(product);
  const double lengths = double{query.numbers.length} * std::sqrt(static_cast<double>(size));
  return lengths == 0 ? 0 : static_cast<float>(product / lengths);
}

}  // namespace

struct StoredVectors::State {
  StoredRows rows;
  std::optional<VectorGraph> graph;
  std::span<const float> sample;
  std::span<const std::int64_t> lines, text_ends;
  std::string_view texts;

  State(const std::filesystem::path& path, const StoredVectorsOptions& options) : rows(path) {
    lines = rows.list<std::int64_t>("lines", DType::i64, rows.count);
    sample = rows.list<float>("sample", DType::f32, rows.size);
    text_ends = rows.list<std::int64_t>("text_ends", DType::i64, rows.count);
    if (const TensorView* const found = rows.find("texts"))
      texts = {reinterpret_cast<const char*>(found->data.data()), found->data.size()};
    if (options.index) graph = VectorGraph::open(rows);
  }

  // About the best of all rows if the graph finds them faster, else the best.
  std::vector<Neighbour> candidates(const RowQuery& query, std::size_t max_count, Similarity kind) const {
    const std::size_t width = std::max(kMinWidth, 2 * max_count);
    if (!graph || !graph->serves(rows, kind) || width > rows.count / 16)
      return best_rows(rows, query, max_count);
    std::vector<Neighbour> found = graph->nearest(rows, query, width);
    keep_best_neighbours(found, max_count);
    return found;
  }

  std::vector<Neighbour> nearest(const std::vector<float>& vector, std::size_t max_count,
                                 Similarity kind) const {
    max_count = std::min(rows.count, max_count);
    RowQuery query = row_query(vector, kind);
    if (rows.format != VectorFormat::bits) return candidates(query, max_count, kind);
    if (kind != Similarity::cosine && kind != Similarity::dot)
      fail("{}: bits have no distances: expected the similarity cosine or dot", rows.source);
    const std::vector<std::uint8_t> signs = signs_of(vector);
    query.signs = signs.data();
    std::vector<Neighbour> best = candidates(query, std::max(kMinRescored, max_count * kRescored), kind);
    for (Neighbour& each : best) each.similarity = compare_signs(query, rows.bits(each.number), kind);
    keep_best_neighbours(best, max_count);
    return best;
  }
};

StoredVectors::StoredVectors(const std::filesystem::path& path, const StoredVectorsOptions& options)
    : state_([&] {
        const ErrorScope scope(ErrorKind::input);
        return std::make_shared<const State>(path, options);
      }()) {}

std::size_t StoredVectors::count() const {
  return state_->rows.count;
}

std::size_t StoredVectors::size() const {
  return state_->rows.size;
}

VectorFormat StoredVectors::format() const {
  return state_->rows.format;
}

bool StoredVectors::indexed(Similarity kind) const {
  return state_->graph && state_->graph->serves(state_->rows, kind);
}

std::optional<std::string> StoredVectors::text(std::size_t number) const {
  const auto ends = state_->text_ends;
  if (ends.empty()) return {};
  if (number >= ends.size()) fail("expected one of {} vectors, found {}", ends.size(), number);
  const std::int64_t begin = number == 0 ? 0 : ends[number - 1], end = ends[number];
  if (begin < 0 || end < begin || end > std::ssize(state_->texts))
    fail("{}: the text of vector {} is not within the {} bytes of texts: the file is damaged",
         state_->rows.source, number + 1, state_->texts.size());
  const std::string_view text =
      state_->texts.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  if (find_invalid_utf8(text))
    fail("{}: the text of vector {} is not valid UTF-8: the file is damaged", state_->rows.source,
         number + 1);
  return std::string(text);
}

std::int64_t StoredVectors::line(std::size_t number) const {
  return number < state_->lines.size() ? state_->lines[number] : static_cast<std::int64_t>(number) + 1;
}

std::vector<Neighbour> StoredVectors::nearest(const std::vector<float>& query, std::size_t max_count,
                                              Similarity kind) const {
  const ErrorScope scope(ErrorKind::input);
  if (query.size() != state_->rows.size)
    fail("{}: it has vectors of {} numbers, but the query's has {}", state_->rows.source, state_->rows.size,
         query.size());
  if (!std::ranges::all_of(query, [](float x) { return std::isfinite(x); }))
    fail("the query's vector has a number that is not finite");
  if (max_count == 0) return {};
  return state_->nearest(query, max_count, kind);
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
        state_->rows.source, size(), sample.size());
  if (state_->sample.empty()) return;
  const float same = cosine_similarity(sample, {state_->sample.begin(), state_->sample.end()});
  if (!(same >= kMinSampleSimilarity))
    fail(
        "{}: it was made with another model or other settings: its vector of a sample text and the model's "
        "have a cosine of {:.3f}",
        state_->rows.source, same);
}

}  // namespace attend
