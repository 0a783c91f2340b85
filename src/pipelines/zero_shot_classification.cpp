// The best of given labels for a text.
#include "base/error.h"
#include "pipelines/pipeline.h"

namespace attend {
namespace {

class ZeroShotClassification : public Pipeline {
 public:
  Options parameters() override {
    Option labels =
        option::texts("labels", labels_, "Candidate labels, unless an input has a field candidate_labels");
    labels.aliases = {"candidate_labels"};
    return {std::move(labels),
            option::text("hypothesis_template", options_.hypothesis,
                         "Hypothesis sentence; {} is replaced by the label"),
            option::flag("multi_label", options_.several, "Multi-label: score each label alone")};
  }
  void load(const ModelPath& model) override { classifier_.emplace(model); }
  std::vector<InputField> fields() const override {
    return {{{"text", "sequence", "inputs"}}, {{"candidate_labels", "labels"}, false, true}};
  }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    static_cast<RunOptions&>(options_) = run;
    std::map<std::vector<std::string>, std::vector<std::size_t>> by_labels;
    for (std::size_t i = 0; i < inputs.size(); ++i) by_labels[labels_of(inputs[i])].push_back(i);
    std::vector<Json> answers(inputs.size());
    for (const auto& [labels, numbers] : by_labels) {
      std::vector<std::string> texts;
      for (const std::size_t i : numbers) texts.push_back(text_of(inputs[i]));
      const auto results = classifier_->classify(texts, labels, options_);
      for (std::size_t i = 0; i < numbers.size(); ++i) answers[numbers[i]] = to_json(texts[i], results[i]);
    }
    return answers;
  }

 private:
  std::vector<std::string> labels_of(const Fields& input) const {
    const ErrorScope scope(ErrorKind::input);
    std::vector<std::string> labels = input.texts({"candidate_labels", "labels"});
    const bool one_text = !input.has({"candidate_labels"}) ? input.json().value("labels", Json()).is_string()
                                                           : input.json()["candidate_labels"].is_string();
    if (one_text) return split_at_commas(labels.front());
    if (labels.empty()) labels = labels_;
    if (labels.empty())
      fail("{}: expected labels to choose from: the parameter labels, or a field candidate_labels",
           input.source());
    return labels;
  }

  static Json to_json(const std::string& text, const std::vector<LabelScore>& ranking) {
    Json labels = Json::array(), scores = Json::array();
    for (const auto& [label, score] : ranking) {
      labels.push_back(label);
      scores.push_back(score);
    }
    return {{"sequence", text}, {"labels", labels}, {"scores", scores}};
  }

  std::vector<std::string> labels_;
  ZeroShotOptions options_;
  std::optional<ZeroShotClassifier> classifier_;
};

}  // namespace

extern const PipelineKind zero_shot_classification_pipeline;
const PipelineKind zero_shot_classification_pipeline = {
    "zero-shot-classification", "the best of given labels for a text",
    "Scores given labels for a text, with a model trained on entailment (NLI).",
    "attend run zero-shot-classification bart-mnli \"My phone is broken.\" --labels urgent,later",
    make_pipeline<ZeroShotClassification>};

}  // namespace attend
