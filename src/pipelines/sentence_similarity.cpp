// The similarity of sentences to a given one.
#include "base/error.h"
#include "formats/json/json_floats.h"
#include "pipelines/vector_parameters.h"

namespace attend {
namespace {

class SentenceSimilarity : public Pipeline {
 public:
  Options parameters() override {
    Options all = vectors_.parameters();
    all.insert(all.begin(), similarity_parameter(similarity_));
    return all;
  }
  void load(const ModelPath& model) override { embedder_.emplace(model, vectors_.embedder()); }

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
    const std::vector<std::vector<float>> vectors = embedder_->embed(all, vectors_.embed(options));
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
  VectorParameters vectors_;
  std::optional<Embedder> embedder_;
};

}  // namespace

extern const PipelineKind sentence_similarity_pipeline;
const PipelineKind sentence_similarity_pipeline = {
    "sentence-similarity", "similarity of sentences to a given one",
    "Prints the similarity of the first text to each of the others, by their vectors and the model's "
    "similarity function. Lines of standard input are JSON objects with source_sentence and sentences.",
    "attend run sentence-similarity all-MiniLM-L6-v2 \"A dog runs.\" \"An animal moves.\" \"It rains.\"",
    make_pipeline<SentenceSimilarity>};

}  // namespace attend
