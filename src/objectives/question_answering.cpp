#include "objectives/question_answering.h"

#include "base/log.h"
#include "models/adapters/adapter.h"
#include "models/padded/forward.h"
#include "nn/losses/label_loss.h"
#include "objectives/base/kinds.h"
#include "objectives/shared/answer_meter.h"
#include "objectives/shared/text_scores.h"
#include "tokenizers/files/directory_facts.h"

namespace attend {
namespace {

constexpr std::int64_t kLongest = 384;  // of a window, the default

QuestionWindows read_windows(const Setting& setting) {
  if (!setting.spec.score_head || setting.spec.score_head->kind != ScoreKind::question_answering)
    fail(
        "`objective` question-answering: expected a model with a score of every token as start and as end; "
        "{} has none",
        setting.directory.path().string());
  if (setting.recipe.label_smoothing > 0) fail("`label_smoothing`: not with `objective` question-answering");
  const Tokenizer tokenizer = plain_tokenizer(setting);
  const std::filesystem::path& path = setting.directory.path();
  WindowOptions options;
  options.longest = longest_text(setting);
  if (setting.recipe.max_length == 0) options.longest = std::min(options.longest, kLongest);
  options.with_types = takes_types(setting.spec) && tokenizers::gives_token_types(path);
  options.none = tokenizers::special_token(tokenizer, path, "cls_token");
  QuestionWindows windows(tokenizer, read_questions(setting.files, table_options(setting)), options);
  std::vector<bool> seen(windows.questions());
  for (const QuestionWindows::Window& window : windows.windows()) seen[window.question] = true;
  if (const auto lost = std::count(seen.begin(), seen.end(), false); lost > 0)
    inform("{} of {} questions are too long to be read with a context in {} tokens", lost, seen.size(),
           options.longest);
  if (windows.windows().empty())
    fail("{}: expected questions that leave room for a context in {} tokens, found none",
         fmt::join(setting.files, ", "), options.longest);
  return windows;
}

// 1 for the tokens of each text up to the first one of id `end`, which ends the question: [T, 1].
Tensor question_rows(const TokenBatch& tokens, std::int64_t end) {
  std::vector<std::int64_t> flags;
  const Tensor ids = tokens.ids.contiguous();
  const auto* const all = ids.const_data<std::int64_t>();
  for (std::int64_t b = 0; b < tokens.offsets.count(); ++b) {
    bool question = true;
    for (std::int64_t i = tokens.offsets.begin(b); i < tokens.offsets.begin(b) + tokens.offsets.length(b);
         ++i) {
      flags.push_back(question ? 1 : 0);
      question = question && all[i] != end;
    }
  }
  return ops::tensor(flags, kLong).unsqueeze(1);
}

// [T, 2]: as the original's head gives them. BigBird finds the question itself: it gives it another token
// type and allows no answer to start there except the one that means no answer.
Tensor span_scores(const PretrainedModel& model, const TokenBatch& given, Pass& pass) {
  const std::optional<std::int64_t> end = model.network()->score_head->spec().question_end;
  TokenBatch tokens = given;
  if (hides_types(model)) tokens.types = Tensor();
  if (!end) return text_scores(model, tokens, pass);
  const Tensor question = question_rows(tokens, *end);
  if (!tokens.types.defined()) tokens.types = 1 - question.squeeze(1);
  const Tensor scores = text_scores(model, tokens, pass);
  const Tensor ruled_out = question.index_fill(0, tokens.offsets.first_rows(), 0).to(scores.type());
  return scores - 1e6 * ruled_out;
}

}  // namespace

QuestionAnswering::QuestionAnswering(const Setting& setting) : windows_(read_windows(setting)) {}

std::int64_t QuestionAnswering::tokens(std::int64_t example) const {
  return windows_.windows()[static_cast<std::size_t>(example)].tokens;
}

Batch QuestionAnswering::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<EncodedText> texts;
  std::vector<std::int64_t> starts, ends;
  for (const std::int64_t example : examples) {
    const QuestionWindows::Window& window = windows_.windows()[static_cast<std::size_t>(example)];
    texts.push_back(windows_.text(window));
    starts.push_back(window.answer.start);
    ends.push_back(window.answer.end);
  }
  Batch batch;
  batch.examples.assign(examples.begin(), examples.end());
  batch.tokens = make_batch(texts);
  batch.starts = ops::tensor(starts, kLong);  // [B]
  batch.ends = ops::tensor(ends, kLong);
  batch.counts = {batch.starts.numel(), batch.ends.numel()};
  return batch;
}

Losses QuestionAnswering::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                                 const LossOptions& options) const {
  const Tensor scores = span_scores(trainee.model(), batch.tokens, pass);
  const SpanLoss loss = span_cross_entropy(scores, batch.tokens.offsets, batch.starts, batch.ends);
  return {{loss.start.sum, loss.end.sum}, scores};
}

std::unique_ptr<Meter> QuestionAnswering::meter() const {
  return answer_meter(windows_);
}

const ObjectiveKind kQuestionAnswering = {
    .name = "question-answering",
    .summary =
        "answers that are spans of a context: JSON lines with question, context, answers, or SQuAD's own "
        "file",
    .head = Head::question_answering,
    .fine_tunes = true,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<QuestionAnswering>(setting);
    },
};

}  // namespace attend
