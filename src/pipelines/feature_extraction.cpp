// The last hidden state of every token.
#include "pipelines/vector_parameters.h"

namespace attend {
namespace {

class FeatureExtraction : public Pipeline {
 public:
  void load(const ModelPath& model) override { extractor_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& options) override {
    std::vector<Json> answers;
    for (const Features& features : extractor_->extract(texts_of(inputs), options)) {
      Json batch = Json::array();  // a batch of one text, as in the pipeline
      batch.push_back(token_rows(features));
      answers.push_back(std::move(batch));
    }
    return answers;
  }

 private:
  std::optional<FeatureExtractor> extractor_;
};

}  // namespace

extern const PipelineKind feature_extraction_pipeline;
const PipelineKind feature_extraction_pipeline = {
    "feature-extraction", "the last hidden state of every token",
    "Prints the model's last hidden states: a list of numbers for each token. For one vector per "
    "sentence, use `attend embed`.",
    "attend run feature-extraction bert-base-uncased \"A dog.\"", make_pipeline<FeatureExtraction>};

}  // namespace attend
