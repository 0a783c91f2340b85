// attend run: tasks whose answer is numbers.
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

class FeatureExtraction : public Task {
 public:
  void add_options(CLI::App&) override {}
  void load(const ModelPath& model) override { extractor_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& options) override {
    std::vector<Json> answers;
    for (const Features& features : extractor_->extract(texts_of(inputs), options)) {
      Json rows = Json::array();
      auto value = features.values.begin();
      for (std::size_t i = 0; i < features.tokens; ++i, value += static_cast<std::ptrdiff_t>(features.width))
        rows.push_back(float_list({value, features.width}));
      Json batch = Json::array();  // a batch of one text, as in the pipeline
      batch.push_back(std::move(rows));
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
  std::vector<InputField> fields() const override {
    return {{{"source_sentence"}}, {{"sentences"}, true, true}};
  }

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

class Rerank : public Task {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--top-k", top_k_, "Max documents per query; 0: all")->check(not_negative());
    app.add_flag("--raw-scores", raw_, "The model's scores as they are, without a sigmoid");
  }
  void load(const ModelPath& model) override { classifier_.emplace(model); }

  // All arguments together are one input.
  std::vector<Json> from_texts(const std::vector<std::string>& texts) const override {
    if (texts.size() < 2) fail("expected a query and the documents to sort, found one text");
    Json input = {{"query", texts.front()},
                  {"documents", std::vector<std::string>(texts.begin() + 1, texts.end())}};
    return std::vector<Json>{std::move(input)};
  }
  bool reads_lines() const override { return false; }
  std::vector<InputField> fields() const override {
    return {{{"query"}}, {{"documents", "texts"}, true, true}};
  }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& options) override {
    std::vector<TextAndPair> pairs;
    std::vector<std::vector<std::string>> documents;
    for (const Fields& input : inputs) {
      const ErrorScope scope(ErrorKind::input);
      documents.push_back(input.texts({"documents", "texts"}));
      if (documents.back().empty()) fail("{}: documents: expected at least one", input.source());
      for (const std::string& document : documents.back()) pairs.push_back({input.text({"query"}), document});
    }
    const std::vector<float> scores = scores_of(pairs, options);
    std::vector<Json> answers;
    auto first = scores.begin();
    for (const std::vector<std::string>& some : documents) {
      answers.push_back(ranking(some, std::vector<float>(first, first + std::ssize(some))));
      first += std::ssize(some);
    }
    return answers;
  }

 private:
  std::vector<float> scores_of(const std::vector<TextAndPair>& pairs, const RunOptions& run) {
    ClassifyOptions options;
    static_cast<RunOptions&>(options) = run;
    options.top_k = 0;
    options.function = raw_ ? ScoreFunction::none : ScoreFunction::sigmoid;
    std::vector<float> scores;
    for (const std::vector<LabelScore>& labels : classifier_->classify(pairs, options)) {
      if (labels.size() != 1)
        fail("expected a model that gives a query and a document one score, found one with {} labels",
             labels.size());
      scores.push_back(labels.front().score);
    }
    return scores;
  }

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
  bool raw_ = false;
  std::optional<TextClassifier> classifier_;
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
      {"rerank", "documents sorted by how well they answer a query",
       "Sorts documents by the score that a cross-encoder gives to the query and each of them: a classifier "
       "with "
       "one label, such as ms-marco-MiniLM-L6-v2. The first text is the query, the others are the documents. "
       "Lines of standard input are JSON objects with query and documents.",
       "attend run rerank ms-marco-MiniLM-L6-v2 \"who painted it\" \"A painter.\" \"It rains.\"",
       make_task<Rerank>},
  };
  return tasks;
}

}  // namespace attend::cli
