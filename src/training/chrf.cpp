#include "training/chrf.h"

#include "base/python_text.h"
#include "base/utf8.h"
#include "training/ngrams.h"

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

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

std::vector<std::uint32_t> number_words(const Words& words,
                                        std::unordered_map<std::string_view, std::uint32_t>& ids) {
  std::vector<std::uint32_t> result;
  for (const std::string_view word : words)
    result.push_back(ids.try_emplace(word, static_cast<std::uint32_t>(ids.size())).first->second);
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

Chrf corpus_chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
                 const ChrfOptions& options) {
  check_parallel(hypotheses, references);
  std::vector<NgramMatches> matches(options.character_order + options.word_order);
  const auto count = [&](std::size_t at, NgramMatches found) {
    // sacrebleu does not count a hypothesis's n-grams where the reference has none of that length.
    if (found.reference == 0) found.hypothesis = 0;
    matches[at] += found;
  };
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const std::string hypothesis = options.lowercase ? lowercase(hypotheses[i]) : hypotheses[i];
    const std::string reference = options.lowercase ? lowercase(references[i]) : references[i];
    const Words ours = split_words(hypothesis), theirs = split_words(reference);

    const auto our_characters = characters(ours), their_characters = characters(theirs);
    for (std::size_t n = 1; n <= options.character_order; ++n)
      count(n - 1, match_ngrams(our_characters, their_characters, n));

    if (options.word_order == 0) continue;
    std::unordered_map<std::string_view, std::uint32_t> ids;
    const auto our_words = number_words(without_punctuation(ours), ids);
    const auto their_words = number_words(without_punctuation(theirs), ids);
    for (std::size_t n = 1; n <= options.word_order; ++n)
      count(options.character_order + n - 1, match_ngrams(our_words, their_words, n));
  }
  return {.score = f_score(matches, options.beta),
          .name = fmt::format("chrF{}{}", options.beta, std::string(options.word_order, '+')),
          .signature =
              fmt::format("nrefs:1|case:{}|eff:yes|nc:{}|nw:{}|space:no", options.lowercase ? "lc" : "mixed",
                          options.character_order, options.word_order)};
}

std::string to_string(const Chrf& chrf) {
  return fmt::format("{}|{} = {:.2f}", chrf.name, chrf.signature, chrf.score);
}

}  // namespace attend
