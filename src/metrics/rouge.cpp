#include "metrics/rouge.h"

#include "base/python_text.h"
#include "metrics/ngrams.h"

#include <algorithm>
#include <unordered_map>

namespace attend {
namespace {

using NumberedWords = std::vector<std::uint32_t>;

std::vector<std::string_view> split(std::string_view lowered) {
  std::vector<std::string_view> words;
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (std::size_t at = 0; at < lowered.size();) {
    std::size_t end = at;
    while (end < lowered.size() && is_word(lowered[end])) ++end;
    if (end > at) words.push_back(lowered.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

double f_measure(double matched, double hypothesis, double reference) {
  return quotient(2 * matched, hypothesis + reference, 0);
}

double ngram_score(const NumberedWords& hypothesis, const NumberedWords& reference, std::size_t n) {
  const NgramMatches matches = match_ngrams(hypothesis, reference, n);
  return f_measure(static_cast<double>(matches.matched), static_cast<double>(matches.hypothesis),
                   static_cast<double>(matches.reference));
}

std::size_t longest_common_subsequence(const NumberedWords& a, const NumberedWords& b) {
  std::vector<std::size_t> row(b.size() + 1);  // of the words of `a` so far and the first words of `b`
  for (const std::uint32_t word : a)
    for (std::size_t j = 0, diagonal = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = word == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  return row.back();
}

// Marks the words of `reference` that belong to its longest common subsequence with `hypothesis`: of several,
// the one that rouge_score's walk back through the table finds.
void mark_common(const NumberedWords& reference, const NumberedWords& hypothesis, std::vector<char>& marks) {
  const std::size_t columns = hypothesis.size() + 1;
  std::vector<std::uint32_t> lengths((reference.size() + 1) * columns);
  const auto length = [&](std::size_t i, std::size_t j) -> std::uint32_t& {
    return lengths[i * columns + j];
  };
  for (std::size_t i = 1; i <= reference.size(); ++i)
    for (std::size_t j = 1; j < columns; ++j)
      length(i, j) = reference[i - 1] == hypothesis[j - 1] ? length(i - 1, j - 1) + 1
                                                           : std::max(length(i - 1, j), length(i, j - 1));
  for (std::size_t i = reference.size(), j = hypothesis.size(); i > 0 && j > 0;) {
    if (reference[i - 1] == hypothesis[j - 1]) {
      marks[i - 1] = 1;
      --i, --j;
    } else if (length(i, j - 1) > length(i - 1, j)) {
      --j;
    } else {
      --i;
    }
  }
}

std::vector<NumberedWords> lines_of(std::string_view lowered, WordNumbers& numbers) {
  std::vector<NumberedWords> lines;
  for (std::size_t begin = 0; begin <= lowered.size();) {
    const std::size_t end = std::min(lowered.find('\n', begin), lowered.size());
    lines.push_back(numbers.of(split(lowered.substr(begin, end - begin))));
    begin = end + 1;
  }
  return lines;
}

// A word of a reference line is found if the line shares it, in order, with any line of the hypothesis; at
// most as often as it occurs in both texts.
double summary_score(const std::vector<NumberedWords>& hypothesis,
                     const std::vector<NumberedWords>& reference) {
  std::unordered_map<std::uint32_t, std::int64_t> left;  // in the hypothesis
  double ours = 0, theirs = 0, found = 0;
  for (const NumberedWords& line : hypothesis)
    for (const std::uint32_t word : line) ++left[word], ++ours;
  for (const NumberedWords& line : reference) {
    theirs += static_cast<double>(line.size());
    std::vector<char> marks(line.size());
    for (const NumberedWords& other : hypothesis) mark_common(line, other, marks);
    for (std::size_t i = 0; i < line.size(); ++i)
      if (marks[i] && left[line[i]]-- > 0) ++found;
  }
  return f_measure(found, ours, theirs);
}

}  // namespace

Rouge v1::rouge(std::string_view hypothesis, std::string_view reference) {
  const std::string our_text = lowercase(hypothesis), their_text = lowercase(reference);
  WordNumbers numbers;
  const NumberedWords ours = numbers.of(split(our_text)), theirs = numbers.of(split(their_text));
  Rouge result{.rouge1 = ngram_score(ours, theirs, 1),
               .rouge2 = ngram_score(ours, theirs, 2),
               .rougeL = f_measure(static_cast<double>(longest_common_subsequence(ours, theirs)),
                                   static_cast<double>(ours.size()), static_cast<double>(theirs.size()))};
  // For single lines both are the same; this saves the table of lengths.
  result.rougeLsum = our_text.find('\n') == our_text.npos && their_text.find('\n') == their_text.npos
                         ? result.rougeL
                         : summary_score(lines_of(our_text, numbers), lines_of(their_text, numbers));
  return result;
}

void RougeMetric::add(std::string_view hypothesis, std::string_view reference) {
  const Rouge one = rouge(hypothesis, reference);
  sum_.rouge1 += one.rouge1;
  sum_.rouge2 += one.rouge2;
  sum_.rougeL += one.rougeL;
  sum_.rougeLsum += one.rougeLsum;
  texts_ += 1;
}

Figures RougeMetric::figures() const {
  const auto texts = static_cast<double>(texts_);
  return {{"rouge1", quotient(sum_.rouge1, texts)},
          {"rouge2", quotient(sum_.rouge2, texts)},
          {"rougeL", quotient(sum_.rougeL, texts)},
          {"rougeLsum", quotient(sum_.rougeLsum, texts)}};
}

}  // namespace attend
