#include "metrics/chrf.h"

#include "base/python_text.h"
#include "base/utf8.h"

#include <fmt/format.h>

namespace attend {
namespace {

using Words = std::vector<std::string_view>;

std::vector<std::uint32_t> characters(const Words& words) {
  std::vector<std::uint32_t> result;
  for (const std::string_view word : words)
    for (std::size_t at = 0; at < word.size();) {
      const CodePoint c = decode_utf8(word, at);
      result.push_back(c.value);
      at += c.size;
    }
  return result;
}

bool is_punctuation(char c) {
  return std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~").find(c) != std::string_view::npos;
}

// One punctuation mark split off each word, the last rather than the first, as chrF++.py does.
Words without_punctuation(const Words& words) {
  Words result;
  for (const std::string_view word : words) {
    const bool single = word.size() == decode_utf8(word, 0).size;
    if (!single && is_punctuation(word.back())) {
      result.push_back(word.substr(0, word.size() - 1));
      result.push_back(word.substr(word.size() - 1));
    } else if (!single && is_punctuation(word.front())) {
      result.push_back(word.substr(0, 1));
      result.push_back(word.substr(1));
    } else {
      result.push_back(word);
    }
  }
  return result;
}

// F-score of the mean precision and recall over the orders that occur on both sides.
double f_score(std::span<const NgramMatches> matches, double beta) {
  double precision = 0, recall = 0, orders = 0;
  for (const NgramMatches& order : matches) {
    if (order.hypothesis == 0 || order.reference == 0) continue;
    precision += static_cast<double>(order.matched) / static_cast<double>(order.hypothesis);
    recall += static_cast<double>(order.matched) / static_cast<double>(order.reference);
    orders += 1;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  const double factor = beta * beta;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

}  // namespace

ChrfMetric::ChrfMetric(const ChrfOptions& options)
    : options_(options), matches_(options.character_order + options.word_order) {}

void ChrfMetric::add(std::string_view hypothesis, std::string_view reference) {
  const auto count = [&](std::size_t at, NgramMatches found) {
    // sacrebleu does not count a hypothesis's n-grams where the reference has none of that length.
    if (found.reference == 0) found.hypothesis = 0;
    matches_[at] += found;
  };
  const auto cased = [&](std::string_view text) {
    return options_.lowercase ? lowercase(text) : std::string(text);
  };
  const std::string our_text = cased(hypothesis), their_text = cased(reference);
  const Words ours = split_words(our_text), theirs = split_words(their_text);

  const auto our_characters = characters(ours), their_characters = characters(theirs);
  for (std::size_t n = 1; n <= options_.character_order; ++n)
    count(n - 1, match_ngrams(our_characters, their_characters, n));

  if (options_.word_order == 0) return;
  WordNumbers numbers;
  const auto our_words = numbers.of(without_punctuation(ours));
  const auto their_words = numbers.of(without_punctuation(theirs));
  for (std::size_t n = 1; n <= options_.word_order; ++n)
    count(options_.character_order + n - 1, match_ngrams(our_words, their_words, n));
}

Chrf ChrfMetric::chrf() const {
  return {.score = f_score(matches_, options_.beta),
          .name = fmt::format("chrF{}{}", options_.beta, std::string(options_.word_order, '+')),
          .signature =
              fmt::format("nrefs:1|case:{}|eff:yes|nc:{}|nw:{}|space:no", options_.lowercase ? "lc" : "mixed",
                          options_.character_order, options_.word_order)};
}

Figures ChrfMetric::figures() const {
  return {{"chrf", chrf().score}};
}

Chrf v1::corpus_chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
                     const ChrfOptions& options) {
  check_parallel(hypotheses, references);
  ChrfMetric metric(options);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) metric.add(hypotheses[i], references[i]);
  return metric.chrf();
}

std::string to_string(const Chrf& chrf) {
  return fmt::format("{}|{} = {:.2f}", chrf.name, chrf.signature, chrf.score);
}

}  // namespace attend
