// attend run: tasks whose answer is labels with scores.
#include "base/error.h"
#include "cli/picture_input.h"
#include "cli/run_task.h"
#include "cli/text_list.h"

namespace attend::cli {
namespace {

Json to_json(const std::vector<LabelScore>& labels) {
  Json list = Json::array();
  for (const auto& [label, score] : labels) list.push_back({{"label", label}, {"score", score}});
  return list;
}

void add_function(CLI::App& app, ScoreFunction& function) {
  app.add_option("--function-to-apply", function, "Function that turns logits into scores")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, ScoreFunction>{{"default", ScoreFunction::by_model},
                                                                       {"softmax", ScoreFunction::softmax},
                                                                       {"sigmoid", ScoreFunction::sigmoid},
                                                                       {"none", ScoreFunction::none}}))
      ->default_str("default");
}

class TextClassification : public Task {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--top-k", options_.top_k, "Max labels per text, best first; 0: all")
        ->check(not_negative());
    add_function(app, options_.function);
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
    for (const auto& labels : classifier_->classify(texts, options_)) answers.push_back(to_json(labels));
    return answers;
  }

 private:
  ClassifyOptions options_;
  std::optional<TextClassifier> classifier_;
};

class ZeroShotClassification : public Task {
 public:
  void add_options(CLI::App& app) override {
    labels_.add(app, "--labels,--candidate-labels",
                "Candidate labels, unless an input has a field candidate_labels");
    app.add_option("--hypothesis-template", options_.hypothesis,
                   "Hypothesis sentence; {} is replaced by the label");
    app.add_flag("--multi-label", options_.several, "Multi-label: score each label alone");
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
    if (labels.empty()) labels = labels_.texts();
    if (labels.empty())
      fail("{}: expected labels to choose from: --labels (labels), or a field candidate_labels",
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

  TextList labels_;
  ZeroShotOptions options_;
  std::optional<ZeroShotClassifier> classifier_;
};

class ImageClassification : public Task {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--top-k", options_.top_k, "Max labels per picture, best first; 0: all")
        ->check(not_negative());
    add_function(app, options_.function);
  }
  void load(const ModelPath& model) override { classifier_.emplace(model); }

  std::vector<InputField> fields() const override { return {{{"image", "text", "inputs"}}}; }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    std::vector<Picture> pictures;
    for (const Fields& input : inputs) {
      const ErrorScope scope(ErrorKind::input);
      pictures.push_back(read_picture(input));
    }
    static_cast<RunOptions&>(options_) = run;
    std::vector<Json> answers;
    for (const auto& labels : classifier_->classify(pictures, options_)) answers.push_back(to_json(labels));
    return answers;
  }

 private:
  ImageOptions options_;
  std::optional<ImageClassifier> classifier_;
};

}  // namespace

std::span<const TaskVerb> label_tasks() {
  static constexpr TaskVerb tasks[] = {
      {"text-classification", "the label of a text, or of a pair of texts",
       "Classifies texts. A pair is a JSON object with text and text_pair.",
       "attend run text-classification distilbert-sst2 \"What a lovely day!\" --top-k 2",
       make_task<TextClassification>},
      {"zero-shot-classification", "the best of given labels for a text",
       "Scores given labels for a text, with a model trained on entailment (NLI).",
       "attend run zero-shot-classification bart-mnli \"My phone is broken.\" --labels urgent,later",
       make_task<ZeroShotClassification>},
      {"image-classification", "the labels of a picture",
       "Classifies pictures. Texts are the names of files (JPEG, PNG, GIF, WebP, BMP, TIFF) or data: URIs.",
       "attend run image-classification vit-base-patch16-224 cat.jpg --top-k 3",
       make_task<ImageClassification>},
  };
  return tasks;
}

}  // namespace attend::cli
