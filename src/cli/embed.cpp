// attend embed MODEL [TEXT...]: sentences to vectors, or a search by meaning.
#include <attend/attend.h>

#include "base/file.h"
#include "base/progress.h"
#include "cli/model_option.h"
#include "cli/verb.h"
#include "formats/json.h"

#include <iostream>
#include <map>

#include <fmt/ranges.h>

namespace attend::cli {
namespace {

// The vectors of texts, those of one adapter together.
std::vector<std::vector<float>> embed_with_progress(Embedder& embedder, const std::vector<std::string>& texts,
                                                    std::int64_t batch_tokens, const AdapterOf& adapters) {
  adapters.check(texts.size());
  std::map<std::optional<std::int64_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < texts.size(); ++i) groups[adapters[i]].push_back(i);
  Progress progress("embedding", texts.size(), "sentences");
  std::vector<std::vector<float>> vectors(texts.size());
  std::size_t before = 0;
  for (const auto& [adapter, numbers] : groups) {
    std::vector<std::string> theirs;
    for (const std::size_t i : numbers) theirs.push_back(texts[i]);
    auto some = embedder.embed(
        theirs, {.batch_tokens = batch_tokens,
                 .on_progress = [&](std::size_t done, std::size_t) { progress.update(before + done); },
                 .adapter = adapter});
    for (std::size_t i = 0; i < numbers.size(); ++i) vectors[numbers[i]] = std::move(some[i]);
    before += numbers.size();
  }
  return vectors;
}

// For each query the `top` nearest of `candidates`.
void print_nearest(const std::vector<std::string>& queries,
                   const std::vector<std::vector<float>>& query_vectors,
                   const std::vector<std::string>& candidates, const std::vector<std::vector<float>>& vectors,
                   std::size_t top, bool json) {
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::vector<Neighbour> found = nearest(query_vectors[q], vectors, top);
    if (json) {
      Json results = Json::array();
      for (const auto& [i, score] : found)
        results.push_back({{"line", i + 1}, {"score", score}, {"text", candidates[i]}});
      std::cout << Json{{"query", queries[q]}, {"results", results}}.dump() << "\n";
      continue;
    }
    if (queries.size() > 1) std::cout << queries[q] << "\n";
    for (const auto& [i, score] : found) std::cout << fmt::format("{:.4f}  {}\n", score, candidates[i]);
  }
}

}  // namespace

int embed(int argc, char** argv) {
  ModelPath model;
  std::string search;
  std::vector<std::string> arguments;
  std::size_t top = 5;
  std::int64_t batch_tokens = 4096;
  bool json = false;
  Parser parser(
      "embed",
      "Turns sentences (arguments, or lines of standard input) into vectors, one line of numbers each. "
      "With --search, prints the lines of a file that are nearest to them in meaning.",
      "attend embed all-MiniLM-L6-v2 --search notes.txt \"how do I undo my last change\"");
  AdapterOf adapters;
  add_model(parser.app(), model);
  adapters.add(parser.app());
  add_texts(parser.app(), "text", arguments, "The sentences");
  parser.app().add_option("--search,--similar-to", search, "A file with one sentence a line to search in");
  parser.app().add_option("--top", top, "How many lines --search prints")->check(CLI::PositiveNumber);
  parser.app().add_option("--batch-tokens", batch_tokens, "Tokens to a batch")->check(CLI::PositiveNumber);
  parser.app().add_flag("--json", json, "One JSON object per sentence");
  if (const auto status = parser.parse(argc, argv)) return *status;

  Embedder embedder(model);
  const std::vector<std::string> texts = texts_or_stdin(arguments);
  const auto vectors = embed_with_progress(embedder, texts, batch_tokens, adapters);
  if (!search.empty()) {
    const std::vector<std::string> candidates = read_lines(search);
    print_nearest(texts, vectors, candidates,
                  embed_with_progress(embedder, candidates, batch_tokens, adapters), top, json);
    return 0;
  }
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (json)
      std::cout << Json{{"text", texts[i]}, {"embedding", vectors[i]}}.dump() << "\n";
    else
      std::cout << fmt::format("{:.6g}\n", fmt::join(vectors[i], " "));
  return 0;
}

}  // namespace attend::cli
