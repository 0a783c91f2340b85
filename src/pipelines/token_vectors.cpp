// A vector for each token, for late interaction.
#include <attend/token_weights.h>

#include "pipelines/pipeline.h"
#include "pipelines/vector_parameters.h"

namespace attend {
namespace {

class TokenVectors : public Pipeline {
 public:
  PipelineParameters parameters() override { return prompt_parameters(options_); }
  void load(const ModelPath& model) override { embedder_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    EmbedOptions options = options_;
    static_cast<RunOptions&>(options) = run;
    std::vector<Json> answers;
    for (const Features& features : embedder_->embed(texts_of(inputs), options))
      answers.push_back(token_rows(features));
    return answers;
  }

 private:
  EmbedOptions options_;
  std::optional<TokenEmbedder> embedder_;
};

}  // namespace

extern const PipelineKind token_vectors_pipeline;
const PipelineKind token_vectors_pipeline = {
    "token-vectors", "a vector for each token, for late interaction",
    "Prints the vectors of BGE-M3 for late interaction (colbert_linear.pt), a list of numbers for each token "
    "after the first. Texts are cut at the model's maximum.",
    "attend run token-vectors bge-m3 \"A dog runs.\"", make_pipeline<TokenVectors>};

}  // namespace attend
