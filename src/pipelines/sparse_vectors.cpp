// A weight for each token that a text is about.
#include <attend/token_weights.h>

#include "formats/json/json_floats.h"
#include "pipelines/pipeline.h"
#include "pipelines/vector_parameters.h"

#include <fmt/format.h>

namespace attend {
namespace {

class SparseVectors : public Pipeline {
 public:
  PipelineParameters parameters() override { return prompt_parameters(options_); }
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

}  // namespace

extern const PipelineKind sparse_vectors_pipeline;
const PipelineKind sparse_vectors_pipeline = {
    "sparse-vectors", "a weight for each token that a text is about",
    "Prints an object with tokens and their weights, the heaviest first: by SPLADE, or by BGE-M3 "
    "(sparse_linear.pt). Texts are cut at the model's maximum.",
    "attend run sparse-vectors splade-v3 \"A dog runs.\"", make_pipeline<SparseVectors>};

}  // namespace attend
