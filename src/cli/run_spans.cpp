// attend run: tasks whose answer is about parts of the text.
#include "base/error.h"
#include "cli/run_task.h"
#include "cli/text_list.h"

namespace attend::cli {
namespace {

class TokenClassification : public Task {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--aggregation-strategy", options_.aggregation, "How tokens are combined into entities")
        ->transform(
            CLI::CheckedTransformer(std::map<std::string, Aggregation>{{"none", Aggregation::none},
                                                                       {"simple", Aggregation::simple},
                                                                       {"first", Aggregation::first},
                                                                       {"average", Aggregation::average},
                                                                       {"max", Aggregation::max}}))
        ->default_str("none");
    ignored_labels_.add(app, "--ignore-labels", "Labels to leave out");
    app.add_option("--stride", options_.stride,
                   "Read long texts in overlapping windows that share this many tokens, instead of only "
                   "their start; needs an aggregation");
  }
  void load(const ModelPath& model) override { classifier_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    static_cast<RunOptions&>(options_) = run;
    options_.ignored_labels = ignored_labels_.texts();
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
  TextList ignored_labels_{options_.ignored_labels};
  std::optional<TokenClassifier> classifier_;
};

class FillMask : public Task {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--top-k", options_.top_k, "Tokens for each mask, best first")->check(positive());
    targets_.add(app, "--targets", "Allow only these tokens");
  }
  void load(const ModelPath& model) override { filler_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    static_cast<RunOptions&>(options_) = run;
    options_.targets = targets_.texts();
    std::vector<Json> answers;
    for (const auto& masks : filler_->fill(texts_of(inputs), options_)) {
      Json all = Json::array();
      for (const auto& fillings : masks) {
        Json list = Json::array();
        for (const auto& [score, token, text, sequence] : fillings)
          list.push_back({{"score", score}, {"token", token}, {"token_str", text}, {"sequence", sequence}});
        all.push_back(std::move(list));
      }
      answers.push_back(all.size() == 1 ? all.front() : all);
    }
    return answers;
  }

 private:
  FillOptions options_;
  TextList targets_;
  std::optional<MaskFiller> filler_;
};

class QuestionAnswering : public Task {
 public:
  void add_options(CLI::App& app) override {
    CLI::Option* question = app.add_option("--question", question_, "A question to ask about every text");
    app.add_option("--context", context_, "A context in which to look for every answer")->excludes(question);
    app.add_option("--top-k", options_.top_k, "Number of answers to a question, best first")
        ->check(positive());
    app.add_option("--max-answer-len", options_.max_answer_length, "Max tokens of an answer")
        ->check(positive());
    app.add_option("--max-seq-len", options_.max_length,
                   "Max tokens of question and context together; longer contexts are read in windows");
    app.add_option("--doc-stride", options_.stride, "Tokens that two windows share");
    app.add_flag("--handle-impossible-answer", options_.may_be_impossible, "Allow an empty answer");
    app.add_flag("--align-to-words,!--no-align-to-words", options_.whole_words,
                 "Answers start and end at word boundaries");
  }
  void load(const ModelPath& model) override { answerer_.emplace(model); }
  std::vector<InputField> fields() const override {
    return {{{"question"}, question_.empty()}, {{"context"}, context_.empty()}};
  }

  // Without --question and --context, texts are in turn a question and its context.
  std::vector<Json> from_texts(const std::vector<std::string>& texts) const override {
    std::vector<Json> inputs;
    if (!reads_lines()) {
      if (texts.size() % 2 != 0)
        fail(
            "expected a question, its context, and so on in turn, or --context with questions alone; found "
            "{} texts",
            texts.size());
      for (std::size_t i = 0; i < texts.size(); i += 2)
        inputs.push_back({{"question", texts[i]}, {"context", texts[i + 1]}});
      return inputs;
    }
    for (const std::string& text : texts)
      inputs.push_back({{"question", question_.empty() ? text : question_},
                        {"context", context_.empty() ? text : context_}});
    return inputs;
  }
  bool reads_lines() const override { return !question_.empty() || !context_.empty(); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    std::vector<Question> questions;
    for (const Fields& input : inputs) {
      const ErrorScope scope(ErrorKind::input);
      questions.push_back({input.text({"question"}, question_), input.text({"context"}, context_)});
    }
    static_cast<RunOptions&>(options_) = run;
    std::vector<Json> answers;
    for (const auto& found : answerer_->answer(questions, options_)) {
      Json list = Json::array();
      for (const auto& [score, start, end, text] : found)
        list.push_back({{"score", score}, {"start", start}, {"end", end}, {"answer", text}});
      answers.push_back(list.size() == 1 ? list.front() : list);
    }
    return answers;
  }

 private:
  std::string question_, context_;
  AnswerOptions options_;
  std::optional<QuestionAnswerer> answerer_;
};

}  // namespace

std::span<const TaskVerb> span_tasks() {
  static constexpr TaskVerb tasks[] = {
      {"token-classification", "labels of tokens: names, parts of speech",
       "Labels the tokens of a text, or the entities that they form.",
       "attend run token-classification bert-ner \"Ada lives in Bath.\" --aggregation-strategy simple",
       make_task<TokenClassification>},
      {"fill-mask", "tokens for masked positions",
       "Predicts the mask tokens of texts; each text must contain one.",
       "attend run fill-mask bert-base-uncased \"Paris is the [MASK] of France.\" --targets capital,heart",
       make_task<FillMask>},
      {"question-answering", "the answer to a question, from a text",
       "Finds the span of a text that answers a question. Texts are alternating questions and contexts; "
       "lines of standard input are JSON objects with question and context, unless one of the two is an "
       "option.",
       "attend run question-answering bert-squad \"Who lives in Bath?\" \"Ada has moved to Bath.\"",
       make_task<QuestionAnswering>},
  };
  return tasks;
}

}  // namespace attend::cli
