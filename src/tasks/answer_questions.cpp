// Answers that are stretches of a given text (Rajpurkar et al. 2016, arXiv:1606.05250).
#include <attend/tasks.h>

#include "base/characters.h"
#include "base/python_text.h"
#include "tasks/spans.h"
#include "tasks/text_model.h"

#include <algorithm>

namespace attend {
namespace {

constexpr std::size_t kMaxLength = 384, kStride = 128;

// A piece of a context, with its question in front.
struct ReadPiece {
  std::size_t question;  // its number
  Encoding encoding;
};

std::vector<ReadPiece> cut(const TextModel& model, const std::vector<Question>& questions,
                           const Truncation& truncation) {
  std::vector<ReadPiece> pieces;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto& [question, context] = questions[i];
    if (question.empty()) fail("question {} is empty", i + 1);
    if (context.empty()) fail("question {}: its context is empty", i + 1);
    Encoding encoding = model.tokenizer().encode_pair(question, context, {.truncation = truncation});
    model.check(encoding, fmt::format("question {} with its context", i + 1));
    std::vector<Encoding> more = std::move(encoding.overflowing);
    pieces.push_back({i, std::move(encoding)});
    for (Encoding& each : more) pieces.push_back({i, std::move(each)});
  }
  return pieces;
}

// Tokens of the context, and the one that stands for no answer.
std::vector<bool> allowed_tokens(const Encoding& encoding, std::optional<TokenId> cls) {
  std::vector<bool> allowed;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i)
    allowed.push_back(encoding.attention_mask[i] != 0 &&
                      (encoding.sequence_ids[i] == 1 || (cls && encoding.ids[i] == *cls)));
  return allowed;
}

// The characters of the word that token i of the context belongs to, as far as the piece has them; of the
// token itself where it belongs to none.
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

// Adds the score to an answer of the same text, or else the answer.
void add(std::vector<Answer>& answers, Answer answer) {
  const std::string text = lowercase(answer.text);
  const auto same =
      std::ranges::find_if(answers, [&](const Answer& other) { return lowercase(other.text) == text; });
  if (same == answers.end())
    answers.push_back(std::move(answer));
  else
    same->score += answer.score;
}

}  // namespace

QuestionAnswerer::QuestionAnswerer(const ModelPath& model)
    : model_(TextModel::with_scores(model, ScoreKind::question_answering)) {}

std::vector<std::vector<Answer>> QuestionAnswerer::answer(const std::vector<Question>& questions,
                                                          const AnswerOptions& options) {
  if (options.top_k < 1) fail("top_k: expected at least 1, found 0");
  if (options.max_answer_length < 1) fail("max_answer_length: expected at least 1, found 0");
  const std::size_t length =
      options.max_length.value_or(std::min(model_->model_max_length().value_or(kMaxLength), kMaxLength));
  const std::size_t stride = options.stride.value_or(std::min(length / 2, kStride));
  if (stride > length) fail("stride: {} tokens are more than the {} of a piece", stride, length);
  const Truncation truncation{
      .strategy = Truncation::Strategy::only_second, .max_length = length, .stride = stride};
  const std::vector<ReadPiece> pieces = cut(*model_, questions, truncation);
  std::vector<Encoding> encodings;
  for (const ReadPiece& piece : pieces) encodings.push_back(piece.encoding);
  // Some of the spans become one where only whole words count.
  const std::size_t candidates = options.whole_words ? options.top_k * 2 + 10 : options.top_k;
  const std::optional<TokenId> cls = model_->special_token("cls_token");
  std::vector<SpanScores> by_piece(pieces.size());
  model_->run(encodings, options, [&](std::size_t i, const TextModel::Output& output) {
    const auto count = static_cast<std::int64_t>(encodings[i].ids.size());
    by_piece[i] = best_spans(numbers(output["start_logits"].narrow(0, 0, count)),
                             numbers(output["end_logits"].narrow(0, 0, count)),
                             allowed_tokens(encodings[i], cls), candidates, options.max_answer_length);
  });

  std::vector<std::vector<Answer>> results(questions.size());
  std::vector<float> none(questions.size(), 1e6);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t q = pieces[i].question;
    const Encoding& encoding = encodings[i];
    const Characters context(questions[q].context);
    for (const auto& [first, last, score] : by_piece[i].spans) {
      const std::size_t start =
          options.whole_words ? word_around(encoding, first).begin : encoding.offsets[first].begin;
      const std::size_t end =
          options.whole_words ? word_around(encoding, last).end : encoding.offsets[last].end;
      add(results[q], {score, start, end, context.slice(start, end)});
    }
    none[q] = std::min(none[q], by_piece[i].none);
  }
  for (std::size_t q = 0; q < questions.size(); ++q) {
    if (options.may_be_impossible) results[q].push_back({none[q], 0, 0, ""});
    std::ranges::stable_sort(results[q], std::ranges::greater(), &Answer::score);
    if (results[q].size() > options.top_k) results[q].resize(options.top_k);
  }
  return results;
}

}  // namespace attend
