// attend embed MODEL [TEXT...]: sentences to vectors, or a search by meaning.
#include <attend/attend.h>

#include "base/file.h"
#include "base/progress.h"
#include "base/python_text.h"
#include "cli/model_option.h"
#include "cli/vector_options.h"
#include "cli/verb.h"
#include "formats/json_floats.h"

#include <iostream>
#include <map>

#include <fmt/ranges.h>

namespace attend::cli {
namespace {

// The vectors of texts, those of one adapter together.
std::vector<std::vector<float>> embed_with_progress(Embedder& embedder, const std::vector<std::string>& texts,
                                                    EmbedOptions options, const AdapterOf& adapters) {
  adapters.check(texts.size());
  std::map<std::optional<std::int64_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < texts.size(); ++i) groups[adapters[i]].push_back(i);
  Progress progress("embedding", texts.size(), "sentences");
  std::vector<std::vector<float>> vectors(texts.size());
  std::size_t before = 0;
  for (const auto& [adapter, numbers] : groups) {
    std::vector<std::string> theirs;
    for (const std::size_t i : numbers) theirs.push_back(texts[i]);
    options.on_progress = [&](std::size_t done, std::size_t) { progress.update(before + done); };
    options.adapter = adapter;
    auto some = embedder.embed(theirs, options);
    for (std::size_t i = 0; i < numbers.size(); ++i) vectors[numbers[i]] = std::move(some[i]);
    before += numbers.size();
  }
  return vectors;
}

// A file that is searched: its lines that hold a text, and their vectors.
struct SearchedFile {
  std::vector<std::string> lines;
  std::vector<std::size_t> numbers;  // of each line, from 1
  std::vector<std::vector<float>> vectors;

  explicit SearchedFile(const std::string& path) {
    std::size_t number = 0;
    for (std::string& line : read_lines(path)) {
      ++number;
      if (strip(line).empty()) continue;
      lines.push_back(std::move(line));
      numbers.push_back(number);
    }
  }
};

// For each query the `top` nearest lines.
void print_nearest(const std::vector<std::string>& queries,
                   const std::vector<std::vector<float>>& query_vectors, const SearchedFile& file,
                   Similarity similarity, std::size_t top, bool json) {
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::vector<Neighbour> found = nearest(query_vectors[q], file.vectors, top, similarity);
    if (json) {
      Json results = Json::array();
      for (const auto& [i, score] : found)
        results.push_back(
            {{"line", file.numbers[i]}, {"score", shortest_double(score)}, {"text", file.lines[i]}});
      std::cout << Json{{"query", queries[q]}, {"results", results}}.dump() << "\n";
      continue;
    }
    if (queries.size() > 1) std::cout << queries[q] << "\n";
    for (const auto& [i, score] : found) std::cout << fmt::format("{:.4f}  {}\n", score, file.lines[i]);
  }
}

}  // namespace

int embed(int argc, char** argv) {
  ModelPath model;
  std::string search;
  std::optional<std::string> document_prompt;
  std::optional<Similarity> similarity;
  std::vector<std::string> arguments;
  std::size_t top = 5;
  RunOptions run;
  bool json = false;
  Parser parser(
      "embed",
      "Turns sentences (arguments, or lines of standard input) into vectors, one line of numbers each. "
      "With --search, prints the lines of a file that are nearest to them in meaning: the sentences then get "
      "the model's prompt for queries and the lines its prompt for documents.",
      "attend embed all-MiniLM-L6-v2 --search notes.txt \"how do I undo my last change\"");
  AdapterOf adapters;
  VectorFlags flags;
  add_model(parser.app(), model);
  adapters.add(parser.app());
  add_texts(parser.app(), "text", arguments, "The sentences");
  CLI::Option* const searches = parser.app().add_option("--search,--similar-to", search,
                                                        "A file with one sentence a line to search in");
  parser.app().add_option("--top", top, "How many lines --search prints")->check(CLI::PositiveNumber);
  add_similarity(parser.app(), similarity)->needs(searches);
  flags.add(parser.app());
  parser.app()
      .add_option("--document-prompt", document_prompt,
                  "Put this text before every line of the searched file")
      ->needs(searches);
  parser.app()
      .add_option("--batch-tokens", run.batch_tokens, "Tokens to a batch")
      ->check(CLI::PositiveNumber);
  parser.app().add_flag("--json", json, "One JSON object per sentence");
  if (const auto status = parser.parse(argc, argv)) return *status;

  Embedder embedder(model, flags.embedder());
  const std::vector<std::string> texts = texts_or_stdin(arguments);
  EmbedOptions options = flags.embed(run);
  if (!search.empty()) {
    options.role = TextRole::query;
    const auto queries = embed_with_progress(embedder, texts, options, adapters);
    options.role = TextRole::document;
    options.prompt_name.reset();
    options.prompt = document_prompt;
    SearchedFile file(search);
    file.vectors = embed_with_progress(embedder, file.lines, options, adapters);
    print_nearest(texts, queries, file, similarity.value_or(embedder.similarity()), top, json);
    return 0;
  }
  const auto vectors = embed_with_progress(embedder, texts, options, adapters);
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (json)
      std::cout << Json{{"text", texts[i]}, {"embedding", float_list(vectors[i])}}.dump() << "\n";
    else
      std::cout << fmt::format("{:.6g}\n", fmt::join(vectors[i], " "));
  return 0;
}

}  // namespace attend::cli
