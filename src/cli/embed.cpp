// attend embed MODEL [TEXT...]: sentences to vectors, or a search by meaning.
#include <attend/attend.h>

#include "base/file.h"
#include "base/progress.h"
#include "base/python_text.h"
#include "cli/bad_inputs.h"
#include "cli/given_texts.h"
#include "cli/model_option.h"
#include "cli/shard.h"
#include "cli/vector_options.h"
#include "cli/verb.h"
#include "formats/json_floats.h"

#include <iostream>
#include <map>

#include <fmt/ranges.h>

namespace attend::cli {
namespace {

// The vectors of texts, grouped by adapter; bad texts have none.
std::vector<std::vector<float>> embed_with_progress(Embedder& embedder, GivenTexts& texts,
                                                    EmbedOptions options, const AdapterOf& adapters) {
  adapters.check(texts.size());
  Progress progress("embedding", texts.size(), "sentences");
  std::vector<std::vector<float>> vectors(texts.size());
  std::size_t before = 0;
  options.on_progress = [&](std::size_t done, std::size_t) { progress.update(before + done); };
  texts.answer([&](GivenTexts::Numbers numbers) {
    std::map<std::optional<std::int64_t>, std::vector<std::size_t>> groups;
    for (const std::size_t i : numbers) groups[adapters[i]].push_back(i);
    for (const auto& [adapter, theirs] : groups) {
      options.adapter = adapter;
      auto some = embedder.embed(texts.some(theirs), options);
      for (std::size_t i = 0; i < theirs.size(); ++i) vectors[theirs[i]] = std::move(some[i]);
      before += theirs.size();
    }
  });
  return vectors;
}

// The lines of a file that are valid texts, with their vectors.
struct Candidates {
  std::vector<std::size_t> lines;
  std::vector<std::string> texts;
  std::vector<std::vector<float>> vectors;
};

Candidates good_lines(const GivenTexts& texts, std::vector<std::vector<float>> vectors, BadInputs& bad) {
  Candidates good;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!texts.error(i).empty()) {
      bad.report(texts.error(i));
      continue;
    }
    if (strip(texts[i]).empty()) continue;
    good.lines.push_back(i + 1);
    good.texts.push_back(texts[i]);
    good.vectors.push_back(std::move(vectors[i]));
  }
  return good;
}

// For each query the `top` nearest of `candidates`. A bad query has none.
void print_nearest(const GivenTexts& queries, const std::vector<std::vector<float>>& query_vectors,
                   const Candidates& candidates, Similarity similarity, std::size_t top, bool json,
                   BadInputs& bad) {
  for (std::size_t q = 0; q < queries.size(); ++q) {
    if (const std::string& error = queries.error(q); !error.empty()) {
      std::cout.flush();
      bad.report(error);
      if (json) std::cout << Json{{"query", queries[q]}, {"error", error}}.dump() << "\n";
      continue;
    }
    const std::vector<Neighbour> found = nearest(query_vectors[q], candidates.vectors, top, similarity);
    if (json) {
      Json results = Json::array();
      for (const auto& [i, score] : found)
        results.push_back({{"line", candidates.lines[i]},
                           {"score", shortest_double(score)},
                           {"text", candidates.texts[i]}});
      std::cout << Json{{"query", queries[q]}, {"results", results}}.dump() << "\n";
      continue;
    }
    if (queries.size() > 1) std::cout << queries[q] << "\n";
    for (const auto& [i, score] : found) std::cout << fmt::format("{:.4f}  {}\n", score, candidates.texts[i]);
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
  BadInputs bad;
  Shard shard;
  Parser parser("embed",
                "Turns sentences (arguments, or lines of standard input) into vectors, one line of numbers "
                "each. With --search, prints the lines of a file that are closest in meaning; sentences then "
                "get the model's query prompt, and lines its document prompt.",
                "attend embed all-MiniLM-L6-v2 --search notes.txt \"how do I undo my last change\"");
  AdapterOf adapters;
  VectorFlags flags;
  add_model(parser.app(), model);
  adapters.add(parser.app());
  add_texts(parser.app(), "text", arguments, "The sentences");
  CLI::Option* const searches =
      parser.app().add_option("--search,--similar-to", search, "A file to search, one sentence per line");
  parser.app().add_option("--top", top, "Number of lines that --search prints")->check(positive());
  add_similarity(parser.app(), similarity)->needs(searches);
  flags.add(parser.app());
  parser.app()
      .add_option("--document-prompt", document_prompt, "Text to put before every line of the searched file")
      ->needs(searches);
  parser.app().add_option("--batch-tokens", run.batch_tokens, "Tokens per batch")->check(positive());
  bad.add_option(parser.app());
  parser.app().add_flag("--json", json, "Print one JSON object per sentence");
  shard.add_options(parser.app());
  if (const auto status = parser.parse(argc, argv)) return *status;
  if (!shard.begin(!arguments.empty())) return 0;

  Embedder embedder(model, flags.embedder());
  GivenTexts texts(arguments);
  EmbedOptions options = flags.embed(run);
  if (!search.empty()) {
    options.role = TextRole::query;
    const auto queries = embed_with_progress(embedder, texts, options, adapters);
    options.role = TextRole::document;
    options.prompt_name.reset();
    options.prompt = document_prompt;
    GivenTexts lines = GivenTexts::of_file(search);
    const Candidates candidates =
        good_lines(lines, embed_with_progress(embedder, lines, options, adapters), bad);
    print_nearest(texts, queries, candidates, similarity.value_or(embedder.similarity()), top, json, bad);
    return shard.finish(bad.status());
  }
  const auto vectors = embed_with_progress(embedder, texts, options, adapters);
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (const std::string& error = texts.error(i); !error.empty()) {
      std::cout.flush();
      bad.report(error);
      std::cout << (json ? Json{{"text", texts[i]}, {"error", error}}.dump() : "") << "\n";
    } else if (json) {
      std::cout << shortest_line({{"text", texts[i]}, {"embedding", float_list(vectors[i])}}) << "\n";
    } else {
      std::cout << fmt::format("{:.6g}\n", fmt::join(vectors[i], " "));
    }
  return shard.finish(bad.status());
}

}  // namespace attend::cli
