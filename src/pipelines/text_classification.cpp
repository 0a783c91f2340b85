// The label of a text, or of a pair of texts.
#include "base/error.h"
#include "pipelines/label_scores.h"

namespace attend {
namespace {

class TextClassification : public Pipeline {
 public:
  Options parameters() override {
    return {option::integer("top_k", options_.top_k, 0, "Max labels per text, best first; 0: all"),
            function_parameter(options_.function)};
  }
  void load(const ModelPath& model) override { classifier_.emplace(model); }
  std::vector<InputField> fields() const override {
    return {{{"text", "sequence", "inputs"}}, {{"text_pair"}, false}};
  }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    std::vector<TextAndPair> texts;
    for (const Fields& input : inputs) {
      const ErrorScope scope(ErrorKind::input);
      texts.push_back({text_of(input), {}});
      if (input.has({"text_pair"})) texts.back().pair = input.text({"text_pair"});
    }
    static_cast<RunOptions&>(options_) = run;
    std::vector<Json> answers;
    for (const auto& labels : classifier_->classify(texts, options_)) answers.push_back(label_list(labels));
    return answers;
  }

 private:
  ClassifyOptions options_;
  std::optional<TextClassifier> classifier_;
};

}  // namespace

extern const PipelineKind text_classification_pipeline;
const PipelineKind text_classification_pipeline = {
    "text-classification", "the label of a text, or of a pair of texts",
    "Classifies texts. A pair is a JSON object with text and text_pair.",
    "attend run text-classification distilbert-sst2 \"What a lovely day!\" --top-k 2",
    make_pipeline<TextClassification>};

}  // namespace attend
