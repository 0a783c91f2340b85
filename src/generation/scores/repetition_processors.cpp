#include "generation/scores/repetition_processors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace attend {
namespace {

using TokenSpan = std::span<const std::int64_t>;

// Penalizes every token in `seen` once.
void penalize(std::span<float> scores, TokenSpan seen, float penalty) {
  std::vector<std::int64_t> tokens(seen.begin(), seen.end());
  std::ranges::sort(tokens);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  for (const std::int64_t token : tokens) {
    if (token < 0 || token >= static_cast<std::int64_t>(scores.size())) continue;
    float& score = scores[token];
    score = score < 0 ? score * penalty : score / penalty;
  }
}

// Forbids tokens that follow an occurrence of the text's last size - 1 tokens in `where`.
void forbid_ngrams(std::span<float> scores, TokenSpan text, TokenSpan where, std::size_t size) {
  if (text.size() + 1 < size) return;
  const TokenSpan last = text.last(size - 1);
  for (std::size_t i = 0; i + size <= where.size(); ++i)
    if (std::ranges::equal(where.subspan(i, size - 1), last)) forbid(scores, where[i + size - 1]);
}

class RepetitionPenalty : public LogitsProcessor {
 public:
  explicit RepetitionPenalty(double penalty) : penalty_(static_cast<float>(penalty)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    penalize(scores, context.tokens, penalty_);
  }

 private:
  float penalty_;
};

class EncoderRepetitionPenalty : public LogitsProcessor {
 public:
  explicit EncoderRepetitionPenalty(double penalty) : penalty_(static_cast<float>(1 / penalty)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    penalize(scores, context.source, penalty_);
  }

 private:
  float penalty_;
};

// As in OpenAI's API: counts only the new text.
class CountPenalty : public LogitsProcessor {
 public:
  CountPenalty(double presence, double frequency)
      : presence_(static_cast<float>(presence)), frequency_(static_cast<float>(frequency)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    std::map<std::int64_t, float> times;
    const auto prompt = std::min(context.tokens.size(), static_cast<std::size_t>(context.limits.prompt));
    for (const std::int64_t token : context.tokens.subspan(prompt)) ++times[token];
    for (const auto& [token, count] : times)
      if (token >= 0 && token < static_cast<std::int64_t>(scores.size()))
        scores[token] -= frequency_ * count + presence_;
  }

 private:
  float presence_, frequency_;
};

// Vijayakumar et al. 2016, arXiv:1610.02424, with the Hamming distance.
class DiversityPenalty : public LogitsProcessor {
 public:
  explicit DiversityPenalty(double penalty) : penalty_(static_cast<float>(penalty)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    std::map<std::int64_t, float> times;
    for (const std::int64_t token : context.others) ++times[token];
    for (const auto& [token, count] : times)
      if (token >= 0 && token < static_cast<std::int64_t>(scores.size())) scores[token] -= penalty_ * count;
  }

 private:
  float penalty_;
};

class NoRepeatNGram : public LogitsProcessor {
 public:
  explicit NoRepeatNGram(std::int64_t size) : size_(static_cast<std::size_t>(size)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    forbid_ngrams(scores, context.tokens, context.tokens, size_);
  }

 private:
  std::size_t size_;
};

class EncoderNoRepeatNGram : public LogitsProcessor {
 public:
  explicit EncoderNoRepeatNGram(std::int64_t size) : size_(static_cast<std::size_t>(size)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    forbid_ngrams(scores, context.tokens, context.source, size_);
  }

 private:
  std::size_t size_;
};

// llama.cpp's "don't repeat yourself": if the end of the text has occurred before, the token that followed it
// loses score, more for longer repetitions.
class Dry : public LogitsProcessor {
 public:
  explicit Dry(const DryPenalty& settings) : settings_(settings) {}

  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    TokenSpan text = context.tokens;
    if (settings_.range >= 0)
      text = text.last(std::min(text.size(), static_cast<std::size_t>(settings_.range)));
    // A repetition does not extend back across a breaker.
    const std::size_t unbroken = static_cast<std::size_t>(
        std::ranges::find_if(text.rbegin(), text.rend(), [&](std::int64_t token) { return breaks(token); }) -
        text.rbegin());
    std::map<std::int64_t, std::size_t> longest;  // by the token that would continue the repetition
    const std::vector<std::size_t> lengths = repeated_ends(text);
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      const std::size_t length = std::min(lengths[i], unbroken);
      if (length < static_cast<std::size_t>(settings_.allowed_length) || length == 0) continue;
      std::size_t& max = longest[text[i + 1]];
      max = std::max(max, length);
    }
    for (const auto& [token, length] : longest) {
      if (token < 0 || token >= static_cast<std::int64_t>(scores.size())) continue;
      const auto excess = static_cast<double>(length) - static_cast<double>(settings_.allowed_length);
      const double penalty = settings_.multiplier * std::pow(settings_.base, excess);
      scores[token] -= static_cast<float>(std::min<double>(penalty, std::numeric_limits<float>::max()));
    }
  }

 private:
  bool breaks(std::int64_t token) const {
    return std::ranges::find(settings_.sequence_breaker_ids, token) != settings_.sequence_breaker_ids.end();
  }

  // result[i]: how many tokens up to and including text[i] equal the last tokens of the text. This is the Z
  // function of the reversed text (Gusfield 1997), so the time is linear.
  static std::vector<std::size_t> repeated_ends(TokenSpan text) {
    const std::size_t n = text.size();
    const auto reversed = [&](std::size_t i) { return text[n - 1 - i]; };
    std::vector<std::size_t> result(n, 0);
    const auto of = [&](std::size_t i) -> std::size_t& { return result[n - 1 - i]; };
    std::size_t left = 0, right = 0;  // the match that reaches farthest
    for (std::size_t i = 1; i < n; ++i) {
      std::size_t& length = of(i);
      if (i < right) length = std::min(right - i, of(i - left));
      while (i + length < n && reversed(length) == reversed(i + length)) ++length;
      if (i + length > right) {
        left = i;
        right = i + length;
      }
    }
    return result;
  }

  DryPenalty settings_;
};

}  // namespace

Processor repetition_penalty(double penalty) {
  return std::make_unique<RepetitionPenalty>(penalty);
}

Processor encoder_repetition_penalty(double penalty) {
  return std::make_unique<EncoderRepetitionPenalty>(penalty);
}

Processor presence_and_frequency_penalty(double presence, double frequency) {
  return std::make_unique<CountPenalty>(presence, frequency);
}

Processor diversity_penalty(double penalty) {
  return std::make_unique<DiversityPenalty>(penalty);
}

Processor no_repeat_ngram(std::int64_t size) {
  return std::make_unique<NoRepeatNGram>(size);
}

Processor encoder_no_repeat_ngram(std::int64_t size) {
  return std::make_unique<EncoderNoRepeatNGram>(size);
}

Processor dry(const DryPenalty& settings) {
  return std::make_unique<Dry>(settings);
}

}  // namespace attend
