#include "objectives/shared/question_windows.h"

#include "base/characters.h"
#include "base/parallel.h"

#include <algorithm>
#include <unordered_map>

namespace attend {
namespace {

// Some questions of SQuAD begin with spaces.
std::string_view without_leading_spaces(std::string_view text) {
  return text.substr(std::min(text.size(), text.find_first_not_of(" \t\n\r\f\v")));
}

}  // namespace

QuestionWindows::QuestionWindows(const Tokenizer& tokenizer, const std::vector<ContextQuestion>& questions,
                                 const WindowOptions& options)
    : frame_(tokenizer, options.with_types, true) {
  encode(tokenizer, questions);
  for (std::size_t i = 0; i < questions_.size(); ++i) cut(i, options);
}

void QuestionWindows::encode(const Tokenizer& tokenizer, const std::vector<ContextQuestion>& questions) {
  std::unordered_map<std::string_view, std::size_t> known;
  for (const ContextQuestion& each : questions) {
    const auto [found, is_new] = known.emplace(each.context, contexts_.size());
    if (is_new) contexts_.push_back({each.context, {}, {}});
    Question& question = questions_.emplace_back();
    question.context = found->second;
    for (const ContextAnswer& answer : each.answers) question.answers.push_back(answer.text);
    if (each.answers.empty()) continue;
    const auto begin = static_cast<std::uint32_t>(each.answers.front().start);
    question.first =
        TextSpan{begin, begin + static_cast<std::uint32_t>(Characters(question.answers.front()).size())};
  }
  parallel_for(contexts_.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Encoding encoding = tokenizer.encode(contexts_[i].text, {.special_tokens = false});
      contexts_[i].ids = std::move(encoding.ids);
      contexts_[i].characters = std::move(encoding.offsets);
    }
  });
  parallel_for(questions_.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      questions_[i].ids = tokenizer
                              .encode(without_leading_spaces(questions[i].question),
                                      {.special_tokens = false, .with_details = false})
                              .ids;
  });
}

void QuestionWindows::cut(std::size_t number, const WindowOptions& options) {
  const Question& question = questions_[number];
  const std::size_t count = contexts_[question.context].ids.size();
  const auto asked = static_cast<std::int64_t>(question.ids.size());
  const std::int64_t room = options.longest - asked - frame_.pair_specials();
  if (room < 1) return;
  const auto step = static_cast<std::size_t>(room - std::min(options.stride, room / 2));
  for (std::size_t begin = 0;; begin += step) {
    Window window{
        number, begin, std::min(count, begin + static_cast<std::size_t>(room)), frame_.second_at(asked), 0,
        {},     0};
    const TokenIds ids = text(window).ids;
    window.tokens = static_cast<std::int64_t>(ids.size());
    const auto none = options.none ? std::ranges::find(ids, *options.none) : ids.begin();
    if (none != ids.end()) window.none = none - ids.begin();
    window.answer = question.first ? place_of(window, *question.first) : Place{window.none, window.none};
    windows_.push_back(window);
    if (window.end == count) return;
  }
}

// From the last token that starts at or before the answer's start, to the first that ends at or after its
// end.
QuestionWindows::Place QuestionWindows::place_of(const Window& window, const TextSpan& answer) const {
  const std::vector<TextSpan>& all = contexts_[questions_[window.question].context].characters;
  std::size_t start = window.begin, end = window.end;
  if (start == end || all[start].begin > answer.begin || all[end - 1].end < answer.end)
    return {window.none, window.none};
  while (start + 1 < window.end && all[start + 1].begin <= answer.begin) ++start;
  while (end > window.begin + 1 && all[end - 2].end >= answer.end) --end;
  const auto place = [&](std::size_t token) {
    return window.offset + static_cast<std::int64_t>(token - window.begin);
  };
  return {place(start), place(end - 1)};
}

EncodedText QuestionWindows::text(const Window& window) const {
  const Question& question = questions_[window.question];
  const std::span<const TokenId> context = contexts_[question.context].ids;
  return frame_.two(question.ids, context.subspan(window.begin, window.end - window.begin));
}

std::string QuestionWindows::answer(const Window& window, const Place& place) const {
  const Context& context = contexts_[questions_[window.question].context];
  const auto characters = [&](std::int64_t at) {
    return context.characters[window.begin + static_cast<std::size_t>(at - window.offset)];
  };
  return Characters(context.text).slice(characters(place.start).begin, characters(place.end).end);
}

bool QuestionWindows::some_without_answer() const {
  return std::ranges::any_of(questions_, [](const Question& question) { return question.answers.empty(); });
}

}  // namespace attend
