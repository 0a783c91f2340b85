#include "metrics/bleu.h"

#include "base/error.h"
#include "base/python_text.h"
#include "base/utf8.h"

#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>
#include <utf8proc.h>

namespace attend {
namespace {

constexpr std::size_t max_order = 4;

struct TokenizerName {
  BleuTokenizer tokenizer;
  const char* name;
};
constexpr TokenizerName tokenizer_names[] = {{BleuTokenizer::mteval_13a, "13a"},
                                             {BleuTokenizer::international, "intl"},
                                             {BleuTokenizer::character, "char"},
                                             {BleuTokenizer::none, "none"}};

std::string_view name_of(BleuTokenizer tokenizer) {
  for (const TokenizerName& entry : tokenizer_names)
    if (entry.tokenizer == tokenizer) return entry.name;
  return "?";
}

// Both tokenizers are lists of substitutions of one or two neighbouring characters, which each put spaces
// somewhere around them. As with any regular expression, a character that a match has taken is not
// available to the next.
template <class Test>
std::string space_around(std::string_view text, Test test) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    const std::string_view bytes = text.substr(at, c.size);
    result += test(c.value) ? fmt::format(" {} ", bytes) : bytes;
    at += c.size;
  }
  return result;
}

enum class Spaces { around_first, around_second };  // of the pair: "_a_b" or "a_b_"

template <class First, class Second>
std::string space_in_pairs(std::string_view text, First first, Second second, Spaces spaces) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint a = decode_utf8(text, at);
    const std::string_view a_bytes = text.substr(at, a.size);
    at += a.size;
    if (at < text.size() && first(a.value)) {
      const CodePoint b = decode_utf8(text, at);
      if (second(b.value)) {
        const std::string_view b_bytes = text.substr(at, b.size);
        at += b.size;
        result += spaces == Spaces::around_first ? fmt::format(" {} {}", a_bytes, b_bytes)
                                                 : fmt::format("{} {} ", a_bytes, b_bytes);
        continue;
      }
    }
    result += a_bytes;
  }
  return result;
}

// mteval-v13a.pl: separates punctuation, but not inside numbers.
std::string tokenize_13a(std::string_view line) {
  std::string text(line);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");

  const auto digit = [](char32_t c) { return c >= '0' && c <= '9'; };
  const auto no_digit = [&](char32_t c) { return !digit(c); };
  const auto point = [](char32_t c) { return c == '.' || c == ','; };
  const auto dash = [](char32_t c) { return c == '-'; };
  const auto symbol = [](char32_t c) {  // ASCII except letters, digits and ' , - .
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  };
  text = space_around(" " + text + " ", symbol);
  text = space_in_pairs(text, no_digit, point, Spaces::around_second);
  text = space_in_pairs(text, point, no_digit, Spaces::around_first);
  return space_in_pairs(text, digit, dash, Spaces::around_second);
}

// mteval-v14.pl: the same with Unicode's punctuation, numbers and symbols.
std::string tokenize_international(std::string_view line) {
  const auto category = [](char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); };
  const auto no_number = [&](char32_t c) {
    return category(c) < UTF8PROC_CATEGORY_ND || category(c) > UTF8PROC_CATEGORY_NO;
  };
  const auto punctuation = [&](char32_t c) {
    return category(c) >= UTF8PROC_CATEGORY_PC && category(c) <= UTF8PROC_CATEGORY_PO;
  };
  const auto symbol = [&](char32_t c) {
    return category(c) >= UTF8PROC_CATEGORY_SM && category(c) <= UTF8PROC_CATEGORY_SO;
  };
  std::string text = space_in_pairs(line, no_number, punctuation, Spaces::around_second);
  text = space_in_pairs(text, punctuation, no_number, Spaces::around_first);
  return space_around(text, symbol);
}

std::string tokenize(std::string_view text, BleuTokenizer tokenizer) {
  switch (tokenizer) {
    case BleuTokenizer::mteval_13a:
      return tokenize_13a(text);
    case BleuTokenizer::international:
      return tokenize_international(text);
    case BleuTokenizer::character:
      return space_around(text, [](char32_t) { return true; });
    case BleuTokenizer::none:
      return std::string(text);
  }
  return {};
}

// The geometric mean of the precisions times the penalty for short output.
void compute_score(Bleu& bleu, const std::array<NgramMatches, max_order>& matches) {
  if (bleu.hypothesis_length < bleu.reference_length)
    bleu.brevity_penalty = bleu.hypothesis_length == 0
                               ? 0
                               : std::exp(1 - static_cast<double>(bleu.reference_length) /
                                                  static_cast<double>(bleu.hypothesis_length));
  if (matches[0].matched == 0) return;  // then no longer n-gram matches either

  double smoothing = 1, sum_of_logarithms = 0;
  for (std::size_t i = 0; i < max_order; ++i) {
    const auto total = static_cast<double>(matches[i].hypothesis),
               matched = static_cast<double>(matches[i].matched);
    if (total == 0) return;  // no sentence is as long as that: the mean is 0
    if (matched == 0) {
      smoothing *= 2;  // "exp": Chen and Cherry 2014 (W14-3346), method 3
      bleu.precisions[i] = 100 / (smoothing * total);
    } else {
      bleu.precisions[i] = 100 * matched / total;
    }
    sum_of_logarithms += std::log(bleu.precisions[i]);
  }
  bleu.score = bleu.brevity_penalty * std::exp(sum_of_logarithms / max_order);
}

}  // namespace

BleuTokenizer bleu_tokenizer(std::string_view name) {
  for (const TokenizerName& entry : tokenizer_names)
    if (entry.name == name) return entry.tokenizer;
  fail("BLEU has no tokenizer '{}': expected 13a, intl, char or none", name);
}

std::string bleu_words(std::string_view text, BleuTokenizer tokenizer) {
  const std::string spaced = tokenize(strip_end(text), tokenizer);
  return fmt::format("{}", fmt::join(split_words(spaced), " "));
}

void BleuMetric::add(std::string_view hypothesis, std::string_view reference) {
  const auto tokenized = [&](std::string_view text) {
    return tokenize(strip_end(options_.lowercase ? lowercase(text) : std::string(text)), options_.tokenizer);
  };
  const std::string ours = tokenized(hypothesis), theirs = tokenized(reference);
  WordNumbers numbers;
  const auto our_words = numbers.of(split_words(ours)), their_words = numbers.of(split_words(theirs));
  for (std::size_t n = 1; n <= max_order; ++n) matches_[n - 1] += match_ngrams(our_words, their_words, n);
}

Bleu BleuMetric::bleu() const {
  Bleu bleu;
  bleu.hypothesis_length = matches_[0].hypothesis;
  bleu.reference_length = matches_[0].reference;
  compute_score(bleu, matches_);
  bleu.signature = fmt::format("nrefs:1|case:{}|eff:no|tok:{}|smooth:exp",
                               options_.lowercase ? "lc" : "mixed", name_of(options_.tokenizer));
  return bleu;
}

Figures BleuMetric::figures() const {
  return {{"bleu", bleu().score}};
}

Bleu v1::corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                     const BleuOptions& options) {
  check_parallel(hypotheses, references);
  BleuMetric metric(options);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) metric.add(hypotheses[i], references[i]);
  return metric.bleu();
}

std::string to_string(const Bleu& bleu) {
  const double ratio = bleu.reference_length == 0 ? 0
                                                  : static_cast<double>(bleu.hypothesis_length) /
                                                        static_cast<double>(bleu.reference_length);
  return fmt::format("BLEU|{} = {:.2f} {:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                     bleu.signature, bleu.score, fmt::join(bleu.precisions, "/"), bleu.brevity_penalty, ratio,
                     bleu.hypothesis_length, bleu.reference_length);
}

}  // namespace attend
