// attend embed MODEL [TEXT...]: sentences to vectors, printed or kept in a file, or a search by meaning.
#include <attend/vectors.h>

#include "base/log.h"
#include "base/progress.h"
#include "cli/options/bad_inputs.h"
#include "cli/options/given_texts.h"
#include "cli/options/model_option.h"
#include "cli/options/shard.h"
#include "cli/options/vector_options.h"
#include "cli/options/verb.h"
#include "cli/vector_search.h"
#include "formats/json/json_floats.h"

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

constexpr std::size_t kIndexedAbove = 1'000'000;  // fewer vectors are compared in a tenth of a second

void build_index(const std::string& path, Similarity kind) {
  Progress progress("building the index", StoredVectors(path, {.index = false}).count(), "vectors");
  write_vector_index(path, kind, [&](std::size_t done, std::size_t) { progress.update(done); });
}

// Whether the file has an index that fits its vectors and this similarity.
bool has_index(const std::string& path, Similarity kind) {
  try {
    return StoredVectors(path).indexed(kind);
  } catch (const Error&) {
    return false;
  }
}

// index: whether there is one; absent: as it is.
StoredVectors open_vectors(const std::string& path, std::optional<bool> index, Similarity kind) {
  if (index == true && !has_index(path, kind)) build_index(path, kind);
  StoredVectors stored(path, {.index = index.value_or(true)});
  if (!index && !stored.indexed(kind) && stored.count() > kIndexedAbove)
    inform("{}: {} vectors without an index for this similarity: --index builds it", path, stored.count());
  return stored;
}

struct KeptVectors {
  std::string path;
  VectorFormat format = VectorFormat::float32;
  std::optional<bool> index;  // absent: by the number of vectors
};

void finish_kept(const KeptVectors& file, std::size_t count, std::size_t size, Similarity kind) {
  inform("{}: {} vectors of {} numbers", file.path, count, size);
  if (file.index.value_or(count > kIndexedAbove))
    build_index(file.path, file.format == VectorFormat::bits ? Similarity::cosine : kind);
}

// Embeds the texts as documents and keeps their vectors in a file.
void keep_vectors(Embedder& embedder, GivenTexts& texts, EmbedOptions options, const AdapterOf& adapters,
                  const KeptVectors& file, BadInputs& bad) {
  options.role = TextRole::document;
  std::vector<std::vector<float>> vectors = embed_with_progress(embedder, texts, options, adapters);
  if (file.path.ends_with(".npy")) {  // its rows are the lines of the texts
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (!texts.error(i).empty())
        fail("{}; a .npy file needs a vector for every line: expected no bad texts, or a .safetensors file",
             texts.error(i));
    write_vectors(file.path, vectors, {.format = file.format});
    return finish_kept(file, vectors.size(), vectors.front().size(), embedder.similarity());
  }
  EmbeddedLines good(texts, std::move(vectors), bad);
  options.prompt = "";
  options.prompt_name.reset();
  options.on_progress = {};
  const std::vector<float> sample = embedder.embed({StoredVectors::sample_text}, options).front();
  write_vectors(file.path, good.vectors,
                {.format = file.format,
                 .texts = std::move(good.texts),
                 .lines = std::move(good.lines),
                 .sample = sample});
  finish_kept(file, good.vectors.size(), sample.size(), embedder.similarity());
}

void print_vectors(const GivenTexts& texts, const std::vector<std::vector<float>>& vectors, bool json,
                   BadInputs& bad) {
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
}

// --search, --top, --similarity, --document-prompt.
struct SearchFlags {
  std::string file;
  std::size_t top = 5;
  std::optional<Similarity> similarity;
  std::optional<std::string> document_prompt;
  std::optional<bool> index;  // also of --output

  void add(CLI::App& app) {
    CLI::Option* const searches = app.add_option(
        "--search,--similar-to", file,
        "A file to search: one sentence per line, or vectors of --output (.safetensors, .npy)");
    app.add_option("--top", top, "Number of lines that --search prints")->check(positive());
    add_similarity(app, similarity)->needs(searches);
    app.add_option("--document-prompt", document_prompt, "Text to put before every line of the searched file")
        ->needs(searches);
    app.add_flag(
        "--index,!--no-index", [this](std::int64_t count) { index = count > 0; },
        "Build an index of the vectors of --output or --search, so that a search compares with few of them; "
        "or search without it. Default: --output builds one above a million vectors, --search uses an "
        "existing one");
  }

  void run(Embedder& embedder, GivenTexts& texts, EmbedOptions options, const AdapterOf& adapters, bool json,
           BadInputs& bad) const {
    const SearchOptions how{top, similarity.value_or(embedder.similarity()), json};
    std::optional<StoredVectors> stored;
    if (holds_vectors(file)) {
      if (document_prompt) fail("--document-prompt: {} contains vectors already", file);
      stored.emplace(open_vectors(file, index, how.similarity));
      stored->check(embedder, options);
    } else if (index) {
      fail("--index: {} has no vectors: expected a file of --output (.safetensors, .npy)", file);
    }
    options.role = TextRole::query;
    const auto queries = embed_with_progress(embedder, texts, options, adapters);
    if (stored) return print_nearest(texts, queries, *stored, how, bad);
    options.role = TextRole::document;
    options.prompt_name.reset();
    options.prompt = document_prompt;
    GivenTexts lines = GivenTexts::of_file(file);
    auto vectors = embed_with_progress(embedder, lines, options, adapters);
    print_nearest(texts, queries, EmbeddedLines(lines, std::move(vectors), bad), how, bad);
  }
};

}  // namespace

int embed(int argc, char** argv) {
  ModelPath model;
  std::vector<std::string> arguments;
  RunOptions run;
  bool json = false;
  BadInputs bad;
  Shard shard;
  SearchFlags search;
  KeptVectors kept;
  Parser parser(
      "embed",
      "Turns sentences (arguments, or lines of standard input) into vectors, one line of numbers "
      "each, or with --output into a file of vectors. With --search, prints the lines of a file that "
      "are closest in meaning; sentences then get the model's query prompt, and lines, like those of "
      "--output, its document prompt.",
      "attend embed all-MiniLM-L6-v2 --search notes.txt \"how do I undo my last change\"");
  AdapterOf adapters;
  VectorFlags flags;
  add_model(parser.app(), model);
  adapters.add(parser.app());
  add_texts(parser.app(), "text", arguments, "The sentences");
  search.add(parser.app());
  flags.add(parser.app());
  parser.app().add_option("--batch-tokens", run.batch_tokens, "Tokens per batch")->check(positive());
  bad.add_option(parser.app());
  parser.app().add_flag("--json", json, "Print one JSON object per sentence");
  shard.add_options(parser.app(), "A file for the vectors: .safetensors, with texts and lines, or .npy");
  CLI::Option* const precision = add_vector_format(parser.app(), kept.format);
  precision->needs(parser.app().get_option("--output"));
  if (const auto status = parser.parse(argc, argv)) return *status;
  kept.path = shard.output_alone();
  kept.index = search.index;
  if (!kept.path.empty() && !holds_vectors(kept.path))
    fail("--output {}: expected a name that ends with .safetensors or .npy", kept.path);
  if (search.index && kept.path.empty() && search.file.empty())
    fail("--index: expected --output or --search with a file of vectors");
  if (!kept.path.empty() && !search.file.empty())
    fail("--output: expected no --search, whose results are printed");
  if (shard.given() && precision->count() > 0) fail("--precision: with --shard, vectors are printed");
  if (!shard.begin(!arguments.empty())) return 0;

  Embedder embedder(model, flags.embedder());
  GivenTexts texts(arguments);
  const EmbedOptions options = flags.embed(run);
  if (!search.file.empty())
    search.run(embedder, texts, options, adapters, json, bad);
  else if (!kept.path.empty())
    keep_vectors(embedder, texts, options, adapters, kept, bad);
  else
    print_vectors(texts, embed_with_progress(embedder, texts, options, adapters), json, bad);
  return shard.finish(bad.status());
}

}  // namespace attend::cli
