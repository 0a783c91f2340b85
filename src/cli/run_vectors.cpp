// attend run: tasks whose answer is numbers.
#include <attend/reranker.h>
#include <attend/token_weights.h>

#include "base/error.h"
#include "cli/run_task.h"
#include "cli/vector_options.h"
#include "cli/verb.h"
#include "formats/json_floats.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace attend::cli {
namespace {

// A list of numbers for each token.
Json rows_of(const Features& features) {
  Json rows = Json::array();
  auto value = features.values.begin();
  for (std::size_t i = 0; i < features.tokens; ++i, value += static_cast<std::ptrdiff_t>(features.width))
    rows.push_back(float_list({value, features.width}));
  return rows;
}

class FeatureExtraction : public Task {
 public:
  void add_options(CLI::App&) override {}
  void load(const ModelPath& model) override { extractor_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& options) override {
    std::vector<Json> answers;
    for (const Features& features : extractor_->extract(texts_of(inputs), options)) {
      Json batch = Json::array();  // a batch of one text, as in the pipeline
      batch.push_back(rows_of(features));
      answers.push_back(std::move(batch));
    }
    return answers;
  }

 private:
  std::optional<FeatureExtractor> extractor_;
};

class SentenceSimilarity : public Task {
 public:
  void add_options(CLI::App& app) override {
    add_similarity(app, similarity_);
    flags_.add(app);
  }
  void load(const ModelPath& model) override { embedder_.emplace(model, flags_.embedder()); }

  // All arguments together are one input.
  std::vector<Json> from_texts(const std::vector<std::string>& texts) const override {
    if (texts.size() < 2) fail("expected a sentence and those to compare it with, found one text");
    Json input = {{"source_sentence", texts.front()},
                  {"sentences", std::vector<std::string>(texts.begin() + 1, texts.end())}};
    return std::vector<Json>{std::move(input)};
  }
  bool reads_lines() const override { return false; }
  std::vector<InputField> fields() const override { return {{{"source_sentence"}}, {{"sentences"}}}; }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& options) override {
    std::vector<std::string> all;  // each source, then its sentences
    std::vector<std::size_t> counts;
    for (const Fields& input : inputs) {
      const ErrorScope scope(ErrorKind::input);
      const std::vector<std::string> sentences = input.texts({"sentences"});
      if (sentences.empty()) fail("{}: sentences: expected at least one", input.source());
      all.push_back(input.text({"source_sentence"}));
      all.insert(all.end(), sentences.begin(), sentences.end());
      counts.push_back(sentences.size());
    }
    const std::vector<std::vector<float>> vectors = embedder_->embed(all, flags_.embed(options));
    const Similarity kind = similarity_.value_or(embedder_->similarity());
    std::vector<Json> answers;
    std::size_t source = 0;
    for (const std::size_t count : counts) {
      Json scores = Json::array();
      for (std::size_t i = 1; i <= count; ++i)
        scores.push_back(shortest_double(similarity(vectors[source], vectors[source + i], kind)));
      answers.push_back(std::move(scores));
      source += count + 1;
    }
    return answers;
  }

 private:
  std::optional<Similarity> similarity_;
  VectorFlags flags_;
  std::optional<Embedder> embedder_;
};

// --prompt, --prompt-name.
void add_prompts(CLI::App& app, std::optional<std::string>& prompt, std::optional<std::string>& name,
                 const char* help) {
  CLI::Option* const named = app.add_option("--prompt-name", name, "Name of a prompt of the model");
  app.add_option("--prompt", prompt, help)->excludes(named);
}

class SparseVectors : public Task {
 public:
  void add_options(CLI::App& app) override {
    add_prompts(app, options_.prompt, options_.prompt_name, "Text to put before every text");
  }
  void load(const ModelPath& model) override { embedder_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    EmbedOptions options = options_;
    static_cast<RunOptions&>(options) = run;
    std::vector<Json> answers;
    for (const std::vector<TokenWeight>& weights : embedder_->embed(texts_of(inputs), options)) {
      Json answer = Json::object();
      auto& fields = answer.get_ref<Json::object_t&>();
      for (const TokenWeight& each : weights)  // a vocabulary may have tokens without a text
        fields.emplace_back(each.text.empty() ? fmt::format("#{}", each.token) : each.text,
                            shortest_double(each.weight));
      answers.push_back(std::move(answer));
    }
    return answers;
  }

 private:
  EmbedOptions options_;
  std::optional<SparseEmbedder> embedder_;
};

class TokenVectors : public Task {
 public:
  void add_options(CLI::App& app) override {
    add_prompts(app, options_.prompt, options_.prompt_name, "Text to put before every text");
  }
  void load(const ModelPath& model) override { embedder_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    EmbedOptions options = options_;
    static_cast<RunOptions&>(options) = run;
    std::vector<Json> answers;
    for (const Features& features : embedder_->embed(texts_of(inputs), options))
      answers.push_back(rows_of(features));
    return answers;
  }

 private:
  EmbedOptions options_;
  std::optional<TokenEmbedder> embedder_;
};

class Rerank : public Task {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--top-k", top_k_, "Max documents per query; 0: all")->check(not_negative());
    app.add_flag("--raw-scores", options_.raw_scores, "The model's scores as they are, without a sigmoid");
    add_prompts(app, options_.prompt, options_.prompt_name,
                "What to look for, for models with a prompt, such as Qwen3-Reranker's instruction");
  }
  void load(const ModelPath& model) override { reranker_.emplace(model); }

  // All arguments together are one input.
  std::vector<Json> from_texts(const std::vector<std::string>& texts) const override {
    if (texts.size() < 2) fail("expected a query and the documents to sort, found one text");
    Json input = {{"query", texts.front()},
                  {"documents", std::vector<std::string>(texts.begin() + 1, texts.end())}};
    return std::vector<Json>{std::move(input)};
  }
  bool reads_lines() const override { return false; }
  std::vector<InputField> fields() const override { return {{{"query"}}, {{"documents", "texts"}}}; }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& options) override {
    std::vector<TextAndPair> pairs;
    std::vector<std::vector<std::string>> documents;
    for (const Fields& input : inputs) {
      const ErrorScope scope(ErrorKind::input);
      documents.push_back(input.texts({"documents", "texts"}));
      if (documents.back().empty()) fail("{}: documents: expected at least one", input.source());
      for (const std::string& document : documents.back()) pairs.push_back({input.text({"query"}), document});
    }
    RerankOptions how = options_;
    static_cast<RunOptions&>(how) = options;
    const std::vector<float> scores = reranker_->score(pairs, how);
    std::vector<Json> answers;
    auto first = scores.begin();
    for (const std::vector<std::string>& some : documents) {
      answers.push_back(ranking(some, std::vector<float>(first, first + std::ssize(some))));
      first += std::ssize(some);
    }
    return answers;
  }

 private:
  // The documents with their places and scores, the best first.
  Json ranking(const std::vector<std::string>& documents, const std::vector<float>& scores) const {
    std::vector<std::size_t> order(documents.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return scores[i]; });
    if (top_k_ > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(top_k_)));
    Json ranked = Json::array();
    for (const std::size_t i : order)
      ranked.push_back({{"index", i}, {"score", shortest_double(scores[i])}, {"document", documents[i]}});
    return ranked;
  }

  std::int64_t top_k_ = 0;
  RerankOptions options_;
  std::optional<Reranker> reranker_;
};

}  // namespace

std::span<const TaskVerb> vector_tasks() {
  static constexpr TaskVerb tasks[] = {
      {"feature-extraction", "the last hidden state of every token",
       "Prints the model's last hidden states: a list of numbers for each token. For one vector per "
       "sentence, use `attend embed`.",
       "attend run feature-extraction bert-base-uncased \"A dog.\"", make_task<FeatureExtraction>},
      {"sentence-similarity", "similarity of sentences to a given one",
       "Prints the similarity of the first text to each of the others, by their vectors and the model's "
       "similarity function. Lines of standard input are JSON objects with source_sentence and sentences.",
       "attend run sentence-similarity all-MiniLM-L6-v2 \"A dog runs.\" \"An animal moves.\" \"It rains.\"",
       make_task<SentenceSimilarity>},
      {"sparse-vectors", "a weight for each token that a text is about",
       "Prints an object with tokens and their weights, the heaviest first: by SPLADE, or by BGE-M3 "
       "(sparse_linear.pt). Texts are cut at the model's maximum.",
       "attend run sparse-vectors splade-v3 \"A dog runs.\"", make_task<SparseVectors>},
      {"token-vectors", "a vector for each token, for late interaction",
       "Prints the vectors of BGE-M3 for late interaction (colbert_linear.pt), a list of numbers for each "
       "token "
       "after the first. Texts are cut at the model's maximum.",
       "attend run token-vectors bge-m3 \"A dog runs.\"", make_task<TokenVectors>},
      {"rerank", "documents sorted by how well they answer a query",
       "Sorts documents by how well they answer a query: by the score of a cross-encoder (a classifier with "
       "one "
       "label, such as ms-marco-MiniLM-L6-v2), or of a language model that answers yes or no, such as "
       "Qwen3-Reranker. The first text is the query, the others are the documents. Lines of standard input "
       "are "
       "JSON objects with query and documents.",
       "attend run rerank ms-marco-MiniLM-L6-v2 \"who painted it\" \"A painter.\" \"It rains.\"",
       make_task<Rerank>},
  };
  return tasks;
}

}  // namespace attend::cli
