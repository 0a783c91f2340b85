// Documents, sorted by how well they answer a query.
#include <attend/reranker.h>

#include "base/error.h"
#include "formats/json/json_floats.h"
#include "pipelines/vector_parameters.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace attend {
namespace {

class Rerank : public Pipeline {
 public:
  Options parameters() override {
    Options all = prompt_parameters(
        options_, "What to look for, for models with a prompt, such as Qwen3-Reranker's instruction");
    all.push_back(option::integer("top_k", top_k_, 0, "Max documents per query; 0: all"));
    all.push_back(
        option::flag("raw_scores", options_.raw_scores, "The model's scores as they are, without a sigmoid"));
    return all;
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

extern const PipelineKind rerank_pipeline;
const PipelineKind rerank_pipeline = {
    "rerank", "documents sorted by how well they answer a query",
    "Sorts documents by how well they answer a query: by the score of a cross-encoder (a classifier with one "
    "label, such "
    "as ms-marco-MiniLM-L6-v2), or of a language model that answers yes or no, such as Qwen3-Reranker. The "
    "first text is "
    "the query, the others are the documents. Lines of standard input are JSON objects with query and "
    "documents.",
    "attend run rerank ms-marco-MiniLM-L6-v2 \"who painted it\" \"A painter.\" \"It rains.\"",
    make_pipeline<Rerank>};

}  // namespace attend
