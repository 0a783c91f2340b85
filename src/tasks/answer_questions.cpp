// Answers that are stretches of a given text (Rajpurkar et al. 2016, arXiv:1606.05250).
#include <attend/tasks.h>

#include "base/characters.h"
#include "base/python_text.h"
#include "tasks/spans.h"
#include "tasks/texts/text_model.h"

#include <algorithm>
#include <unordered_map>

namespace attend {
namespace {

constexpr std::size_t kMaxLength = 384, kStride = 128;

// Parts of contexts, each after its question.
struct ReadPieces {
  std::vector<Encoding> encodings;
  std::vector<std::size_t> question_of;  // the question of each part
};

// Max tokens of a question that would leave too few for its context, as the original's max_question_len;
// fewer if the window is short.
constexpr std::size_t kQuestionLength = 64;

// The first `tokens` tokens of a question.
std::string beginning(const Tokenizer& tokenizer, const std::string& question, std::size_t tokens) {
  const Encoding encoding = tokenizer.encode(
      question,
      {.special_tokens = false, .truncation = Truncation{.max_length = std::max(tokens, std::size_t{1})}});
  return Characters(question).slice(0, encoding.offsets.empty() ? 0 : encoding.offsets.back().end);
}

// Question and context, the context in parts. If the question leaves no room for it, `truncate` cuts the
// question.
Encoding encode(const TextModel& model, const Question& asked, const Truncation& truncation, bool truncate) {
  const Tokenizer& tokenizer = model.tokenizer();
  const EncodeOptions options{.truncation = truncation};
  const auto tokens =
      tokenizer.encode(asked.question, {.special_tokens = false, .with_details = false}).ids.size();
  const std::size_t added = tokenizer.encode_pair("", "", {.with_details = false}).ids.size();
  if (tokens + added + truncation.stride < truncation.max_length)
    return tokenizer.encode_pair(asked.question, asked.context, options);
  const std::size_t kept = std::min(kQuestionLength, truncation.max_length / 4);
  if (truncate && kept + added + truncation.stride < truncation.max_length) {
    model.longest().say_cut(/*asked=*/true, "");
    return tokenizer.encode_pair(beginning(tokenizer, asked.question, kept), asked.context, options);
  }
  // A short context may still fit.
  Encoding whole = tokenizer.encode_pair(asked.question, asked.context);
  if (whole.ids.size() <= truncation.max_length) return whole;
  fail(
      "the question has {} tokens, which leaves none for its context: question and context may have {} "
      "together, and pieces of the context share {}; shorten the question, raise `max_seq_len`, lower "
      "`doc_stride`, or cut the question off with `truncate`",
      tokens, truncation.max_length, truncation.stride);
}

ReadPieces cut(const TextModel& model, const std::vector<Question>& questions, const Truncation& truncation,
               bool truncate) {
  const ErrorScope scope(ErrorKind::input);
  ReadPieces pieces;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const std::string name =
        questions.size() == 1 ? std::string("the question") : fmt::format("question {}", i + 1);
    if (questions[i].question.empty()) fail("{} is empty", name);
    if (questions[i].context.empty()) fail("{}: its context is empty", name);
    Encoding encoding = encode(model, questions[i], truncation, truncate);
    model.check(encoding, name + " with its context");
    std::vector<Encoding> more = std::move(encoding.overflowing);
    pieces.question_of.insert(pieces.question_of.end(), more.size() + 1, i);
    pieces.encodings.push_back(std::move(encoding));
    std::ranges::move(more, std::back_inserter(pieces.encodings));
  }
  return pieces;
}

// Only tokens of the context are allowed, and the token that means no answer.
std::vector<bool> allowed_tokens(const Encoding& encoding, std::optional<TokenId> cls) {
  std::vector<bool> allowed;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i)
    allowed.push_back(encoding.attention_mask[i] != 0 &&
                      (encoding.sequence_ids[i] == 1 || (cls && encoding.ids[i] == *cls)));
  return allowed;
}

// The characters of the word that token i of the context belongs to, within the window; of the token itself
// if it belongs to none.
TextSpan word_around(const Encoding& encoding, std::size_t i) {
  const std::int32_t word = encoding.word_ids[i];
  TextSpan span = encoding.offsets[i];
  if (word < 0 || encoding.sequence_ids[i] != 1) return span;
  bool found = false;
  for (std::size_t j = 0; j < encoding.ids.size(); ++j) {
    if (encoding.sequence_ids[j] != 1 || encoding.word_ids[j] != word) continue;
    if (!found) span.begin = encoding.offsets[j].begin;
    found = true;
    span.end = encoding.offsets[j].end;
  }
  return span;
}

// The answers to one question. Answers with the same text, ignoring case, become one answer with the sum of
// their scores.
class AnswerList {
 public:
  void add(Answer answer) {
    const auto [place, is_new] = places_.try_emplace(lowercase(answer.text), answers_.size());
    if (is_new)
      answers_.push_back(std::move(answer));
    else
      answers_[place->second].score += answer.score;
  }
  std::vector<Answer> take() { return std::move(answers_); }

 private:
  std::vector<Answer> answers_;
  std::unordered_map<std::string, std::size_t> places_;  // by text
};

// Merges the answers of the windows of each context, best first.
std::vector<std::vector<Answer>> merge(const std::vector<Question>& questions, const ReadPieces& pieces,
                                       const std::vector<SpanScores>& by_piece,
                                       const AnswerOptions& options) {
  std::vector<std::vector<Answer>> results;
  for (std::size_t q = 0, i = 0; q < questions.size(); ++q) {
    const Characters context(questions[q].context);
    AnswerList answers;
    float none = 1e6;
    for (; i < by_piece.size() && pieces.question_of[i] == q; ++i) {
      const Encoding& encoding = pieces.encodings[i];
      for (const auto& [first, last, score] : by_piece[i].spans) {
        const std::size_t start =
            options.whole_words ? word_around(encoding, first).begin : encoding.offsets[first].begin;
        const std::size_t end =
            options.whole_words ? word_around(encoding, last).end : encoding.offsets[last].end;
        answers.add({score, start, end, context.slice(start, end)});
      }
      none = std::min(none, by_piece[i].none);
    }
    std::vector<Answer>& all = results.emplace_back(answers.take());
    if (options.may_be_impossible) all.push_back({none, 0, 0, ""});
    if (all.empty()) all.emplace_back();  // for a blank context, as in the pipeline
    std::ranges::stable_sort(all, std::ranges::greater(), &Answer::score);
    if (all.size() > options.top_k) all.resize(options.top_k);
  }
  return results;
}

}  // namespace

QuestionAnswerer::QuestionAnswerer(const ModelPath& model)
    : model_(TextModel::with_scores(model, ScoreKind::question_answering)) {}

std::vector<std::vector<Answer>> QuestionAnswerer::answer(const std::vector<Question>& questions,
                                                          const AnswerOptions& options) {
  if (options.top_k < 1) fail("top_k: expected at least 1, found 0");
  if (options.max_answer_length < 1) fail("max_answer_length: expected at least 1, found 0");
  const std::size_t length =
      options.max_length.value_or(std::min(model_->longest().tokens().value_or(kMaxLength), kMaxLength));
  const std::size_t stride = options.stride.value_or(std::min(length / 2, kStride));
  if (stride > length) fail("stride: {} tokens are more than the {} of a piece", stride, length);
  const Truncation truncation{
      .strategy = Truncation::Strategy::only_second, .max_length = length, .stride = stride};
  const ReadPieces pieces = cut(*model_, questions, truncation, options.truncate);
  const std::vector<Encoding>& encodings = pieces.encodings;
  // Several spans may become one if only whole words count.
  const std::size_t candidates = options.whole_words ? options.top_k * 2 + 10 : options.top_k;
  const std::optional<TokenId> cls = model_->special_token("cls_token");
  std::vector<SpanScores> by_piece(encodings.size());
  model_->run(encodings, options, [&](std::size_t i, const TextModel::Output& output) {
    const auto count = static_cast<std::int64_t>(encodings[i].ids.size());
    by_piece[i] = best_spans(numbers(output["start_logits"].narrow(0, 0, count)),
                             numbers(output["end_logits"].narrow(0, 0, count)),
                             allowed_tokens(encodings[i], cls), candidates, options.max_answer_length);
  });
  return merge(questions, pieces, by_piece, options);
}

}  // namespace attend
