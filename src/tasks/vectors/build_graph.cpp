// The links between the rows of a file of vectors, built by hnswlib.
#include "base/parallel.h"
#include "tasks/vectors/vector_graph.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#define NO_MANUAL_VECTORIZATION  // distances are ours
#include <hnswlib/hnswlib.h>

namespace attend {
namespace {

constexpr std::size_t kBuildWidth = 200;  // how many candidates a new row chooses its links from

// hnswlib's points are numbers of rows; the vectors stay in the mapped file.
using RowNumber = std::uint32_t;

class RowSpace : public hnswlib::SpaceInterface<float> {
 public:
  RowSpace(const StoredRows& rows, Similarity kind) : rows_(rows), kind_(kind), lengths_(rows.count) {
    if (rows.format == VectorFormat::bits) return;
    parallel_for(rows.count, 1024, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        lengths_[i] = row_query(numbers(i), kind).numbers.length;
        rows.check_score(lengths_[i], i);
      }
    });
    lengthless_ = row_query({}, kind);
  }

  std::size_t get_data_size() override { return sizeof(RowNumber); }
  hnswlib::DISTFUNC<float> get_dist_func() override { return distance; }
  void* get_dist_func_param() override { return this; }

 private:
  static float distance(const void* a, const void* b, const void* space) {
    RowNumber from, to;
    std::memcpy(&from, a, sizeof from);
    std::memcpy(&to, b, sizeof to);
    return static_cast<const RowSpace*>(space)->distance_of(from, to);
  }

  float distance_of(RowNumber from, RowNumber to) const {
    RowQuery query = lengthless_;
    if (rows_.format == VectorFormat::bits) {
      query.signs = rows_.bits(from);
    } else {
      const std::span<const float> own = numbers(from);
      query.numbers.numbers = own.data();
      query.numbers.width = std::ssize(own);
      query.numbers.length = lengths_[from];
    }
    float score = 0;
    rows_.compare(query, to, to + std::size_t{1}, &score);
    return -score;
  }

  // Valid until the thread asks for those of another row.
  std::span<const float> numbers(std::size_t row) const {
    const std::byte* const from = rows_.rows + row * rows_.row_bytes;
    if (rows_.format == VectorFormat::float32) return {reinterpret_cast<const float*>(from), rows_.size};
    static thread_local std::vector<float> numbers;
    numbers.resize(rows_.size);
    const auto* const integers = reinterpret_cast<const std::int8_t*>(from);
    for (std::size_t i = 0; i < rows_.size; ++i)
      numbers[i] = static_cast<float>(integers[i]) * rows_.scales[row];
    return numbers;
  }

  const StoredRows& rows_;
  Similarity kind_;
  std::vector<float> lengths_;
  RowQuery lengthless_;
};

// The rows of the lowest level that has few, compared with all: a search looks at each of them.
std::vector<std::int32_t> entries_of(const hnswlib::HierarchicalNSW<float>& graph) {
  const auto max = static_cast<std::size_t>(4 * std::sqrt(static_cast<double>(graph.cur_element_count)));
  std::vector<std::int32_t> entries;
  for (int level = 0; level <= graph.maxlevel_; ++level) {
    entries.clear();
    for (RowNumber i = 0; i < graph.cur_element_count; ++i)
      if (graph.element_levels_[i] >= level)
        entries.push_back(static_cast<std::int32_t>(graph.getExternalLabel(i)));
    if (entries.size() <= max) break;
  }
  std::ranges::sort(entries);
  return entries;
}

}  // namespace

GraphTensors build_graph(const StoredRows& rows, Similarity kind, const OnProgress& on_progress) {
  if (rows.count > std::numeric_limits<std::int32_t>::max())
    fail("{}: expected at most {} vectors for an index, found {}", rows.source,
         std::numeric_limits<std::int32_t>::max(), rows.count);
  if (rows.format == VectorFormat::bits && kind != Similarity::cosine && kind != Similarity::dot)
    fail("{}: bits have no distances: expected the similarity cosine or dot", rows.source);
  RowSpace space(rows, kind);
  hnswlib::HierarchicalNSW<float> graph(&space, rows.count, kLinks / 2, kBuildWidth);
  std::size_t done = 0;
  std::mutex mutex;
  parallel_for(rows.count, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto number = static_cast<RowNumber>(i);
      graph.addPoint(&number, i);
    }
    const std::lock_guard lock(mutex);
    done += end - begin;
    if (on_progress) on_progress(done, rows.count);
  });
  GraphTensors made{std::vector<std::int32_t>(rows.count * kLinks, -1), entries_of(graph)};
  for (RowNumber i = 0; i < rows.count; ++i) {
    hnswlib::linklistsizeint* const list = graph.get_linklist0(i);
    auto to = made.links.begin() + static_cast<std::ptrdiff_t>(graph.getExternalLabel(i) * kLinks);
    for (std::size_t j = 0; j < graph.getListCount(list); ++j)
      *to++ = static_cast<std::int32_t>(graph.getExternalLabel(list[1 + j]));
  }
  return made;
}

}  // namespace attend
