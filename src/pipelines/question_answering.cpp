// The answer to a question, from a text.
#include "base/error.h"
#include "pipelines/pipeline.h"

namespace attend {
namespace {

class QuestionAnswering : public Pipeline {
 public:
  Options parameters() override {
    Option context = option::text("context", context_, "A context in which to look for every answer");
    context.excludes = "question";
    return {
        option::text("question", question_, "A question to ask about every text"),
        std::move(context),
        option::integer("top_k", options_.top_k, 1, "Number of answers to a question, best first"),
        option::integer("max_answer_len", options_.max_answer_length, 1, "Max tokens of an answer"),
        option::integer("max_seq_len", options_.max_length, 1,
                        "Max tokens of question and context together; longer contexts are read in windows"),
        option::integer("doc_stride", options_.stride, 0, "Tokens that two windows share"),
        option::flag("handle_impossible_answer", options_.may_be_impossible, "Allow an empty answer"),
        option::flag("align_to_words", options_.whole_words, "Answers start and end at word boundaries")};
  }
  void load(const ModelPath& model) override { answerer_.emplace(model); }
  std::vector<InputField> fields() const override {
    return {{{"question"}, question_.empty()}, {{"context"}, context_.empty()}};
  }

  // Without the parameters question and context, texts are in turn a question and its context.
  std::vector<Json> from_texts(const std::vector<std::string>& texts) const override {
    std::vector<Json> inputs;
    if (!reads_lines()) {
      if (texts.size() % 2 != 0)
        fail(
            "expected a question, its context, and so on in turn, or the parameter context with questions "
            "alone; found "
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
  std::string question_, context_;  // empty: inputs have it
  AnswerOptions options_;
  std::optional<QuestionAnswerer> answerer_;
};

}  // namespace

extern const PipelineKind question_answering_pipeline;
const PipelineKind question_answering_pipeline = {
    "question-answering", "the answer to a question, from a text",
    "Finds the span of a text that answers a question. Texts are alternating questions and contexts; "
    "lines of standard input are JSON objects with question and context, unless one of the two is an "
    "option.",
    "attend run question-answering bert-squad \"Who lives in Bath?\" \"Ada has moved to Bath.\"",
    make_pipeline<QuestionAnswering>};

}  // namespace attend
