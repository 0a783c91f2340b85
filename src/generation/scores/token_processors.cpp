#include "generation/scores/token_processors.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace attend {
namespace {

using Tokens = std::vector<std::int64_t>;

std::int64_t length_of(const ProcessorContext& context) {
  return static_cast<std::int64_t>(context.tokens.size());
}

// Biases of single tokens, and of longer sequences if their last token may come next.
class SequenceBiases : public LogitsProcessor {
 public:
  explicit SequenceBiases(const std::vector<SequenceBias>& biases) {
    // If a sequence occurs several times, its last bias counts, at the first position: the original stores
    // them in a dict.
    std::map<Tokens, std::size_t> places;
    for (const SequenceBias& bias : biases) {
      if (bias.tokens.empty()) continue;
      const auto [place, is_new] = places.try_emplace(bias.tokens, biases_.size());
      if (is_new) biases_.push_back(bias);
      biases_[place->second].bias = bias.bias;
    }
    // Those of single tokens are added first.
    std::ranges::stable_partition(biases_, [](const SequenceBias& bias) { return bias.tokens.size() == 1; });
  }

  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    std::map<std::int64_t, float> sums;  // by token
    for (const auto& [tokens, bias] : biases_) {
      // One token more than needed, as in the original: a text must be at least as long as the sequence.
      if (tokens.size() > 1 && tokens.size() > context.tokens.size()) continue;
      const std::span<const std::int64_t> begin(tokens.data(), tokens.size() - 1);
      if (std::ranges::equal(context.tokens.last(begin.size()), begin))
        sums[tokens.back()] += static_cast<float>(bias);
    }
    for (const auto& [token, sum] : sums)
      if (token >= 0 && token < static_cast<std::int64_t>(scores.size())) scores[token] += sum;
  }

 private:
  std::vector<SequenceBias> biases_;
};

class MinLength : public LogitsProcessor {
 public:
  explicit MinLength(Tokens ends) : ends_(std::move(ends)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    if (length_of(context) >= context.limits.min) return;
    for (const std::int64_t end : ends_) forbid(scores, end);
  }

 private:
  Tokens ends_;
};

// One of `tokens` must come at a certain position.
class Forced : public LogitsProcessor {
 public:
  enum class Place { second, last };
  Forced(Tokens tokens, Place place) : tokens_(std::move(tokens)), place_(place) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    if (length_of(context) != (place_ == Place::second ? 1 : context.limits.max - 1)) return;
    std::ranges::fill(scores, kNever);
    for (const std::int64_t token : tokens_) scores[token] = 0;
  }

 private:
  Tokens tokens_;
  Place place_;
};

class RemoveInvalidValues : public LogitsProcessor {
 public:
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    constexpr float kMax = std::numeric_limits<float>::max();
    for (float& score : scores) score = std::isnan(score) ? 0 : std::clamp(score, -kMax, kMax);
  }
};

// From some length on, end tokens become likelier with every token.
class ExponentialDecayLengthPenalty : public LogitsProcessor {
 public:
  ExponentialDecayLengthPenalty(const ExponentialDecay& decay, Tokens ends)
      : decay_(decay), ends_(std::move(ends)) {
    std::ranges::sort(ends_);
    ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
  }
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    const std::int64_t over = length_of(context) - context.limits.prompt - decay_.start;
    if (over <= 0) return;
    constexpr double kLargest = 1e30;  // above it the original's scores become infinite
    const auto growth =
        static_cast<float>(std::min(kLargest, std::pow(decay_.factor, static_cast<double>(over)) - 1));
    for (const std::int64_t end : ends_) {
      if (end >= static_cast<std::int64_t>(scores.size())) continue;
      // Excluded tokens stay excluded; the original turns them into NaN.
      if (scores[end] != kNever) scores[end] += std::abs(scores[end]) * growth;
    }
  }

 private:
  ExponentialDecay decay_;
  Tokens ends_;
};

class Suppress : public LogitsProcessor {
 public:
  explicit Suppress(Tokens tokens) : tokens_(std::move(tokens)) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    for (const std::int64_t token : tokens_) forbid(scores, token);
  }

 private:
  Tokens tokens_;
};

class BeginSuppress : public LogitsProcessor {
 public:
  BeginSuppress(Tokens tokens, bool forced) : tokens_(std::move(tokens)), forced_(forced) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    const std::int64_t prompt = context.limits.prompt;
    if (length_of(context) != (prompt == 1 && forced_ ? 2 : prompt)) return;
    for (const std::int64_t token : tokens_) forbid(scores, token);
  }

 private:
  Tokens tokens_;
  bool forced_;
};

}  // namespace

Processor sequence_bias(const std::vector<SequenceBias>& biases) {
  return std::make_unique<SequenceBiases>(biases);
}

Processor bad_words(const std::vector<Tokens>& words, const Tokens& ends) {
  std::vector<SequenceBias> biases;
  for (const Tokens& word : words)
    if (word.size() != 1 || std::ranges::find(ends, word[0]) == ends.end()) biases.push_back({word, kNever});
  return std::make_unique<SequenceBiases>(biases);
}

Processor min_length(const Tokens& ends) {
  return std::make_unique<MinLength>(ends);
}

Processor forced_second(std::int64_t token) {
  return std::make_unique<Forced>(Tokens{token}, Forced::Place::second);
}

Processor forced_last(const Tokens& tokens) {
  return std::make_unique<Forced>(tokens, Forced::Place::last);
}

Processor remove_invalid_values() {
  return std::make_unique<RemoveInvalidValues>();
}

Processor exponential_decay_length_penalty(const ExponentialDecay& decay, const Tokens& ends) {
  return std::make_unique<ExponentialDecayLengthPenalty>(decay, ends);
}

Processor suppress_tokens(const Tokens& tokens) {
  return std::make_unique<Suppress>(tokens);
}

Processor begin_suppress_tokens(const Tokens& tokens, bool forced) {
  return std::make_unique<BeginSuppress>(tokens, forced);
}

}  // namespace attend
