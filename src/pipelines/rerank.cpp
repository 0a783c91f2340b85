// Documents, sorted by how well they answer a query.
#include "base/error.h"
#include "formats/json_floats.h"
#include "pipelines/pipeline.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace attend {
namespace {

class Rerank : public Pipeline {
 public:
  PipelineParameters parameters() override {
    return {parameter::integer("top_k", top_k_, 0, "Max documents per query; 0: all"),
            parameter::flag("raw_scores", raw_, "The model's scores as they are, without a sigmoid")};
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

extern const PipelineKind rerank_pipeline;
const PipelineKind rerank_pipeline = {
    "rerank", "documents sorted by how well they answer a query",
    "Sorts documents by the score that a cross-encoder gives to the query and each of them: a classifier "
    "with "
    "one label, such as ms-marco-MiniLM-L6-v2. The first text is the query, the others are the documents. "
    "Lines of standard input are JSON objects with query and documents.",
    "attend run rerank ms-marco-MiniLM-L6-v2 \"who painted it\" \"A painter.\" \"It rains.\"",
    make_pipeline<Rerank>};

}  // namespace attend
