#include "tasks/vectors/vector_graph.h"

#include "base/content_hash.h"
#include "sources/sentence_modules.h"

#include <algorithm>
#include <queue>

namespace attend {
namespace {

constexpr std::size_t kHashedRows = 1024;

// Recognizes the vectors by some of them, because reading all would take longer than a search.
std::string hash_of(const StoredRows& rows) {
  ContentHash hash;
  hash.add_text(fmt::format("{} {} {}", static_cast<int>(rows.format), rows.count, rows.size));
  const std::size_t step = std::max<std::size_t>(1, rows.count / kHashedRows);
  for (std::size_t i = 0; i < rows.count; i += step)
    hash.add({rows.rows + i * rows.row_bytes, rows.row_bytes});
  return hash.hex();
}

constexpr Similarity kSimilarities[] = {Similarity::cosine, Similarity::dot, Similarity::euclidean,
                                        Similarity::manhattan};

// A tensor of row numbers; `multiple` of them belong together.
std::span<const std::int32_t> row_numbers(const TensorFile& file, const std::string& name,
                                          const std::vector<std::int64_t>& shape, const std::string& source) {
  const auto found = file.tensors().find(name);
  if (found == file.tensors().end() || found->second.type != DType::i32 || found->second.shape.empty() ||
      (!shape.empty() && found->second.shape != shape) || found->second.count() == 0)
    fail("{}: expected the tensor {} of an index, as `attend embed --index` writes it", source, name);
  const TensorView& view = found->second;
  return {reinterpret_cast<const std::int32_t*>(view.data.data()), view.count()};
}

}  // namespace

std::filesystem::path VectorGraph::path_of(const std::filesystem::path& vectors) {
  return vectors.string() + ".hnsw";
}

void VectorGraph::write(const StoredRows& rows, Similarity kind, const OnProgress& on_progress) {
  const GraphTensors made = build_graph(rows, kind, on_progress);
  const auto view = [](const std::vector<std::int32_t>& numbers, std::vector<std::int64_t> shape) {
    TensorView tensor{DType::i32, std::move(shape), {}};
    tensor.data = std::as_bytes(std::span(numbers));
    return tensor;
  };
  const auto count = static_cast<std::int64_t>(rows.count), links = static_cast<std::int64_t>(kLinks);
  write_safetensors(path_of(rows.path),
                    {{"links", view(made.links, {count, links})},
                     {"entries", view(made.entries, {std::ssize(made.entries)})}},
                    {{"similarity", similarity_name(kind)}, {"vectors", hash_of(rows)}});
}

std::optional<VectorGraph> VectorGraph::open(const StoredRows& rows) {
  const std::filesystem::path path = path_of(rows.path);
  if (!std::filesystem::exists(path)) return {};
  SafetensorsFile file(path);
  std::map<std::string, std::string> metadata = file.metadata();
  VectorGraph graph(std::move(file));
  graph.source_ = path.string();
  graph.links_ =
      row_numbers(graph.file_, "links",
                  {static_cast<std::int64_t>(rows.count), static_cast<std::int64_t>(kLinks)}, graph.source_);
  graph.entries_ = row_numbers(graph.file_, "entries", {}, graph.source_);
  const auto* const kind = std::ranges::find(kSimilarities, metadata["similarity"], similarity_name);
  if (metadata["vectors"] != hash_of(rows) || kind == std::end(kSimilarities))
    fail("{}: it is not the index of these vectors: build it again with --index, or remove it",
         graph.source_);
  graph.kind_ = *kind;
  return graph;
}

std::vector<Neighbour> VectorGraph::nearest(const StoredRows& rows, const RowQuery& query,
                                            std::size_t width) const {
  const auto worse = [](const Neighbour& a, const Neighbour& b) { return better(b, a); };
  std::priority_queue<Neighbour, std::vector<Neighbour>, decltype(worse)> open(worse);  // the best is next
  std::priority_queue<Neighbour, std::vector<Neighbour>, decltype(&better)> found(
      better);  // the worst is next
  std::vector<bool> seen(rows.count);
  const auto visit = [&](std::int32_t number) {
    const auto row = static_cast<std::size_t>(number);
    if (row >= rows.count)
      fail("{}: a link to row {} of {}: the file is damaged", source_, number, rows.count);
    if (seen[row]) return;
    seen[row] = true;
    Neighbour neighbour{row, 0};
    rows.compare(query, row, row + 1, &neighbour.similarity);
    rows.check_score(neighbour.similarity, row);
    if (found.size() == width && !better(neighbour, found.top())) return;
    open.push(neighbour);
    found.push(neighbour);
    if (found.size() > width) found.pop();
  };
  for (const std::int32_t entry : entries_) visit(entry);
  while (!open.empty()) {
    const Neighbour next = open.top();
    if (found.size() == width && better(found.top(), next)) break;
    open.pop();
    for (const std::int32_t link : links_.subspan(next.number * kLinks, kLinks)) {
      if (link < 0) break;
      visit(link);
    }
  }
  std::vector<Neighbour> best(found.size());
  for (std::size_t i = best.size(); i-- > 0; found.pop()) best[i] = found.top();
  return best;
}

void v1::write_vector_index(const std::filesystem::path& path, Similarity kind,
                            const OnProgress& on_progress) {
  const ErrorScope scope(ErrorKind::input);
  VectorGraph::write(StoredRows(path), kind, on_progress);
}

}  // namespace attend
