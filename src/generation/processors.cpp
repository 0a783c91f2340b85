#include "generation/processors.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace attend {
namespace {

using Tokens = std::vector<std::int64_t>;
constexpr float kNever = -std::numeric_limits<float>::infinity();

// Token ids may come from anywhere: those outside the vocabulary have no score.
void forbid(std::span<float> scores, std::int64_t token) {
  if (token >= 0 && token < static_cast<std::int64_t>(scores.size())) scores[token] = kNever;
}

class RepetitionPenalty : public LogitsProcessor {
 public:
  explicit RepetitionPenalty(double penalty) : penalty_(static_cast<float>(penalty)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    Tokens seen(context.tokens.begin(), context.tokens.end());
    std::ranges::sort(seen);
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (const std::int64_t token : seen) {
      if (token < 0 || token >= static_cast<std::int64_t>(scores.size())) continue;
      float& score = scores[token];
      score = score < 0 ? score * penalty_ : score / penalty_;
    }
  }

 private:
  float penalty_;
};

class NoRepeatNGram : public LogitsProcessor {
 public:
  explicit NoRepeatNGram(std::int64_t size) : size_(static_cast<std::size_t>(size)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    const auto tokens = context.tokens;
    if (tokens.size() + 1 < size_) return;
    const auto last = tokens.last(size_ - 1);
    for (std::size_t i = 0; i + size_ <= tokens.size(); ++i)
      if (std::ranges::equal(tokens.subspan(i, size_ - 1), last)) forbid(scores, tokens[i + size_ - 1]);
  }

 private:
  std::size_t size_;
};

class BadWords : public LogitsProcessor {
 public:
  BadWords(std::vector<Tokens> words, const GenerationConfig& config) : words_(std::move(words)) {
    std::erase_if(words_, [&](const Tokens& word) { return word.size() == 1 && config.is_eos(word[0]); });
  }
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    const auto tokens = context.tokens;
    for (const Tokens& word : words_) {
      // One token more than needed, as in the original: a text must be at least as long as the word.
      if (word.size() > 1 && word.size() > tokens.size()) continue;
      const std::span<const std::int64_t> begin(word.data(), word.size() - 1);
      if (std::ranges::equal(tokens.last(begin.size()), begin)) forbid(scores, word.back());
    }
  }

 private:
  std::vector<Tokens> words_;
};

// min_length and min_new_tokens: both are LengthLimits::least.
class LeastLength : public LogitsProcessor {
 public:
  explicit LeastLength(Tokens ends) : ends_(std::move(ends)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    if (static_cast<std::int64_t>(context.tokens.size()) >= context.limits.least) return;
    for (const std::int64_t end : ends_) forbid(scores, end);
  }

 private:
  Tokens ends_;
};

// One of `tokens` comes at a certain place.
class Forced : public LogitsProcessor {
 public:
  enum class Place { second, last };
  Forced(Tokens tokens, Place place) : tokens_(std::move(tokens)), place_(place) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    const auto length = static_cast<std::int64_t>(context.tokens.size());
    if (length != (place_ == Place::second ? 1 : context.limits.most - 1)) return;
    std::ranges::fill(scores, kNever);
    for (const std::int64_t token : tokens_) scores[token] = 0;
  }

 private:
  Tokens tokens_;
  Place place_;
};

class Temperature : public LogitsProcessor {
 public:
  explicit Temperature(double temperature) : temperature_(static_cast<float>(temperature)) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    for (float& score : scores) score /= temperature_;
  }

 private:
  float temperature_;
};

// Fan et al. 2018, arXiv:1805.04833. Tokens that score the same as the k-th all stay.
class TopK : public LogitsProcessor {
 public:
  explicit TopK(std::int64_t k) : k_(static_cast<std::size_t>(k)) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    if (k_ >= scores.size()) return;
    std::vector<float> sorted(scores.begin(), scores.end());
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(k_) - 1, sorted.end(),
                     std::greater{});
    const float least = sorted[k_ - 1];
    for (float& score : scores)
      if (score < least) score = kNever;
  }

 private:
  std::size_t k_;
};

// Nucleus sampling: Holtzman et al. 2019, arXiv:1904.09751.
class TopP : public LogitsProcessor {
 public:
  explicit TopP(double p) : removed_(static_cast<float>(1 - p)) {}
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    std::vector<std::int32_t> order;  // of the tokens that are still possible, the least likely first
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (scores[i] != kNever) order.push_back(static_cast<std::int32_t>(i));
    if (order.empty()) return;
    std::ranges::stable_sort(order, {}, [&](std::int32_t i) { return scores[i]; });
    const float largest = scores[order.back()];
    std::vector<float> probabilities;
    for (const std::int32_t i : order) probabilities.push_back(std::exp(scores[i] - largest));
    const auto sum = static_cast<float>(std::accumulate(probabilities.begin(), probabilities.end(), 0.0));
    double mass = 0;
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {  // the likeliest always stays
      mass += probabilities[i] / sum;
      if (static_cast<float>(mass) > removed_) break;
      scores[order[i]] = kNever;
    }
  }

 private:
  float removed_;
};

class Renormalize : public LogitsProcessor {
 public:
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    const Tensor row = at::from_blob(scores.data(), {static_cast<std::int64_t>(scores.size())}, at::kFloat);
    row.copy_(at::log_softmax(row, -1));
  }
};

}  // namespace

LogitsProcessors::LogitsProcessors(const GenerationConfig& config) {
  const auto add = [this]<class Processor>(Processor processor) {
    processors_.push_back(std::make_unique<const Processor>(std::move(processor)));
  };
  if (config.repetition_penalty != 1) add(RepetitionPenalty(config.repetition_penalty));
  if (config.no_repeat_ngram_size > 0) add(NoRepeatNGram(config.no_repeat_ngram_size));
  if (!config.bad_words_ids.empty()) add(BadWords(config.bad_words_ids, config));
  if (!config.eos_token_id.empty() && (config.min_length > 0 || config.min_new_tokens.value_or(0) > 0))
    add(LeastLength(config.eos_token_id));
  if (config.forced_bos_token_id) add(Forced({*config.forced_bos_token_id}, Forced::Place::second));
  if (!config.forced_eos_token_id.empty()) add(Forced(config.forced_eos_token_id, Forced::Place::last));
  if (config.do_sample) {
    if (config.temperature != 1) add(Temperature(config.temperature));
    if (config.top_k > 0) add(TopK(config.top_k));
    if (config.top_p < 1) add(TopP(config.top_p));
  }
  if (config.renormalize_logits) add(Renormalize());
}

}  // namespace attend
