// Labels of tokens, or of the entities that they form.
#include "pipelines/pipeline.h"

namespace attend {
namespace {

class TokenClassification : public Pipeline {
 public:
  Options parameters() override {
    return {
        option::choice("aggregation_strategy", options_.aggregation,
                       {{"none", Aggregation::none},
                        {"simple", Aggregation::simple},
                        {"first", Aggregation::first},
                        {"average", Aggregation::average},
                        {"max", Aggregation::max}},
                       "How tokens are combined into entities"),
        option::texts("ignore_labels", options_.ignored_labels, "Labels to leave out"),
        option::integer("stride", options_.stride, 0,
                        "Read long texts in overlapping windows that share this many tokens, instead of only "
                        "their start; needs an aggregation")};
  }
  void load(const ModelPath& model) override { classifier_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    static_cast<RunOptions&>(options_) = run;
    std::vector<Json> answers;
    for (const auto& entities : classifier_->classify(texts_of(inputs), options_)) {
      Json list = Json::array();
      for (const Entity& entity : entities) list.push_back(to_json(entity));
      answers.push_back(std::move(list));
    }
    return answers;
  }

 private:
  Json to_json(const Entity& entity) const {
    const bool alone = options_.aggregation == Aggregation::none;
    Json json = {{alone ? "entity" : "entity_group", entity.label}, {"score", entity.score}};
    if (alone) json["index"] = entity.index;
    json["word"] = entity.word;
    json["start"] = entity.start;
    json["end"] = entity.end;
    return json;
  }

  TokenOptions options_;
  std::optional<TokenClassifier> classifier_;
};

}  // namespace

extern const PipelineKind token_classification_pipeline;
const PipelineKind token_classification_pipeline = {
    "token-classification", "labels of tokens: names, parts of speech",
    "Labels the tokens of a text, or the entities that they form.",
    "attend run token-classification bert-ner \"Ada lives in Bath.\" --aggregation-strategy simple",
    make_pipeline<TokenClassification>};

}  // namespace attend
