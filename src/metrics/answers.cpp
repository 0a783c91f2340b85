#include "metrics/answers.h"

#include "base/python_text.h"
#include "base/utf8.h"

#include <algorithm>

#include <fmt/ranges.h>
#include <utf8proc.h>

namespace attend {
namespace {

using Words = std::vector<std::string_view>;

// Python's \w: letters, numbers and _ (which was removed with the punctuation).
bool is_word_character(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
         (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

std::string without_punctuation(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~").find(c) == std::string_view::npos) result += c;
  return result;
}

// \b(a|an|the)\b becomes a space. A word may end without a space, for example at a non-ASCII dash.
std::string without_articles(std::string_view text) {
  std::string result;
  std::size_t begin = 0;  // of the run of word characters at hand
  const auto close = [&](std::size_t end) {
    const std::string_view word = text.substr(begin, end - begin);
    result += word == "a" || word == "an" || word == "the" ? " " : word;
  };
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    if (!is_word_character(c.value)) {
      close(at);
      result += text.substr(at, c.size);
      begin = at + c.size;
    }
    at += c.size;
  }
  close(text.size());
  return result;
}

// The harmonic mean of the shares of words that two answers have in common.
double word_f1(const std::string& predicted, const std::string& expected) {
  Words ours = split_words(predicted), theirs = split_words(expected), common;
  if (ours.empty() || theirs.empty()) return ours.empty() && theirs.empty() ? 1 : 0;
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  std::set_intersection(ours.begin(), ours.end(), theirs.begin(), theirs.end(), std::back_inserter(common));
  return 2 * static_cast<double>(common.size()) / static_cast<double>(ours.size() + theirs.size());
}

}  // namespace

std::string normalized_answer(std::string_view answer) {
  const std::string text = without_articles(without_punctuation(lowercase(answer)));
  return fmt::format("{}", fmt::join(split_words(text), " "));
}

void AnswerMetric::add(std::string_view predicted, std::span<const std::string> expected) {
  const std::string ours = normalized_answer(predicted);
  bool has_answer = false, exact = false;
  double f1 = 0;
  for (const std::string& answer : expected) {
    const std::string theirs = normalized_answer(answer);
    if (theirs.empty()) continue;
    has_answer = true;
    exact |= ours == theirs;
    f1 = std::max(f1, word_f1(ours, theirs));
  }
  if (!has_answer) {
    exact = ours.empty();
    f1 = exact ? 1 : 0;
  }
  Sum& sum = has_answer ? has_answer_ : no_answer_;
  sum.count += 1;
  sum.exact += exact ? 1 : 0;
  sum.f1 += f1;
}

Figures AnswerMetric::figures() const {
  const double count = has_answer_.count + no_answer_.count;
  Figures figures = {{"exact_match", 100 * quotient(has_answer_.exact + no_answer_.exact, count)},
                     {"f1", 100 * quotient(has_answer_.f1 + no_answer_.f1, count)}};
  if (no_answer_.count > 0) {
    figures.emplace_back("has_answer_exact_match", 100 * quotient(has_answer_.exact, has_answer_.count));
    figures.emplace_back("has_answer_f1", 100 * quotient(has_answer_.f1, has_answer_.count));
    figures.emplace_back("no_answer_exact_match", 100 * quotient(no_answer_.exact, no_answer_.count));
  }
  return figures;
}

}  // namespace attend
