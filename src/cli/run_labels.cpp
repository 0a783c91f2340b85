// attend run: tasks whose answer is labels with scores.
#include "cli/picture_input.h"
#include "cli/run_task.h"
#include "cli/verb.h"

namespace attend::cli {
namespace {

Json to_json(const std::vector<LabelScore>& labels) {
  Json list = Json::array();
  for (const auto& [label, score] : labels) list.push_back({{"label", label}, {"score", score}});
  return list;
}

void add_function(CLI::App& app, ScoreFunction& function) {
  app.add_option("--function-to-apply", function, "What makes scores of the model's numbers")
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
    app.add_option("--top-k", options_.top_k, "Labels for each text, the best first; 0: all")
        ->check(not_negative());
    add_function(app, options_.function);
    app.add_flag("--truncate", options_.truncate, "Cut off texts that are longer than the tokenizer's limit");
  }
  void load(const ModelPath& model) override { classifier_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    std::vector<TextAndPair> texts;
    for (const Fields& input : inputs) {
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
    app.add_option("--labels,--candidate-labels", labels_,
                   "The labels to choose from, with commas between them")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->required();
    app.add_option("--hypothesis-template", options_.hypothesis, "The sentence a label is put into, at {}");
    app.add_flag("--multi-label", options_.several, "Any number of labels may hold: each is judged alone");
  }
  void load(const ModelPath& model) override {
    for (std::string& label : labels_) label = CLI::detail::trim(label);
    std::erase(labels_, "");
    classifier_.emplace(model);
  }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    const std::vector<std::string> texts = texts_of(inputs);
    static_cast<RunOptions&>(options_) = run;
    const auto results = classifier_->classify(texts, labels_, options_);
    std::vector<Json> answers;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Json labels = Json::array(), scores = Json::array();
      for (const auto& [label, score] : results[i]) {
        labels.push_back(label);
        scores.push_back(score);
      }
      answers.push_back({{"sequence", texts[i]}, {"labels", labels}, {"scores", scores}});
    }
    return answers;
  }

 private:
  std::vector<std::string> labels_;
  ZeroShotOptions options_;
  std::optional<ZeroShotClassifier> classifier_;
};

class ImageClassification : public Task {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--top-k", options_.top_k, "Labels for each picture, the best first; 0: all")
        ->check(not_negative());
    add_function(app, options_.function);
  }
  void load(const ModelPath& model) override { classifier_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    std::vector<Picture> pictures;
    for (const Fields& input : inputs) pictures.push_back(read_picture(input));
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
       "Says which label fits a text. A pair is a JSON object with text and text_pair.",
       "attend run text-classification distilbert-sst2 \"What a lovely day!\" --top-k 2",
       make_task<TextClassification>},
      {"zero-shot-classification", "which of any given labels fit a text",
       "Says which of the given labels fit a text, with a model trained on entailment.",
       "attend run zero-shot-classification bart-mnli \"My phone is broken.\" --labels urgent,later",
       make_task<ZeroShotClassification>},
      {"image-classification", "the labels of a picture",
       "Says what is in a picture. Texts are the names of files (JPEG, PNG, GIF, WebP, BMP, TIFF) or data: "
       "URIs.",
       "attend run image-classification vit-base-patch16-224 cat.jpg --top-k 3",
       make_task<ImageClassification>},
  };
  return tasks;
}

}  // namespace attend::cli
