#include "cli/vector_search.h"

#include "base/python_text.h"
#include "formats/json/json_floats.h"

#include <iostream>

namespace attend::cli {
namespace {

Json found_json(std::int64_t line, float score, const std::optional<std::string>& text) {
  Json found = {{"line", line}, {"score", shortest_double(score)}};
  if (text) found["text"] = *text;
  return found;
}

template <class Among>
void print_all(const GivenTexts& queries, const std::vector<std::vector<float>>& query_vectors,
               const Among& among, const SearchOptions& options, BadInputs& bad) {
  for (std::size_t q = 0; q < queries.size(); ++q) {
    if (const std::string& error = queries.error(q); !error.empty()) {
      std::cout.flush();
      bad.report(error);
      if (options.json) std::cout << Json{{"query", queries[q]}, {"error", error}}.dump() << "\n";
      continue;
    }
    const std::vector<Neighbour> found = among.nearest(query_vectors[q], options.top, options.similarity);
    if (options.json) {
      Json results = Json::array();
      for (const auto& [i, score] : found) results.push_back(found_json(among.line(i), score, among.text(i)));
      std::cout << Json{{"query", queries[q]}, {"results", results}}.dump() << "\n";
      continue;
    }
    if (queries.size() > 1) std::cout << queries[q] << "\n";
    for (const auto& [i, score] : found)
      std::cout << fmt::format("{:.4f}  {}\n", score,
                               among.text(i).value_or(fmt::format("line {}", among.line(i))));
  }
}

}  // namespace

EmbeddedLines::EmbeddedLines(const GivenTexts& given, std::vector<std::vector<float>> all, BadInputs& bad) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given.error(i).empty()) {
      bad.report(given.error(i));
      continue;
    }
    if (strip(given[i]).empty()) continue;
    lines.push_back(static_cast<std::int64_t>(i) + 1);
    texts.push_back(given[i]);
    vectors.push_back(std::move(all[i]));
  }
}

bool holds_vectors(const std::string& path) {
  return path.ends_with(".safetensors") || path.ends_with(".npy");
}

void print_nearest(const GivenTexts& queries, const std::vector<std::vector<float>>& query_vectors,
                   const EmbeddedLines& among, const SearchOptions& options, BadInputs& bad) {
  print_all(queries, query_vectors, among, options, bad);
}

void print_nearest(const GivenTexts& queries, const std::vector<std::vector<float>>& query_vectors,
                   const StoredVectors& among, const SearchOptions& options, BadInputs& bad) {
  print_all(queries, query_vectors, among, options, bad);
}

}  // namespace attend::cli
