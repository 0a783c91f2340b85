// attend run: tasks whose answer is numbers.
#include "base/error.h"
#include "cli/run_task.h"
#include "cli/vector_options.h"
#include "formats/json_floats.h"

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
  };
  return tasks;
}

}  // namespace attend::cli
