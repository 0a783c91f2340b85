#include "generation/scores/watermark_processors.h"

#include "generation/config/watermark.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace attend {
namespace {

class RaiseGreen : public LogitsProcessor {
 public:
  explicit RaiseGreen(const GreenListWatermark& watermark) : watermark_(watermark), lists_(watermark) {}

  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    if (std::ssize(context.tokens) < watermark_.context_width) return;
    const std::vector<std::int64_t> green = watermark_.by_candidate
                                                ? green_candidates(scores, context.tokens)
                                                : lists_.at(context.tokens, std::ssize(scores));
    for (const std::int64_t token : green) scores[token] += static_cast<float>(watermark_.bias);
  }

 private:
  // Each token would have its own list; the original checks the likeliest 40.
  std::vector<std::int64_t> green_candidates(std::span<const float> scores,
                                             std::span<const std::int64_t> tokens) const {
    std::vector<std::int64_t> likeliest(scores.size()), green;
    std::iota(likeliest.begin(), likeliest.end(), 0);
    const auto count = std::min<std::ptrdiff_t>(40, std::ssize(scores));
    std::ranges::partial_sort(likeliest, likeliest.begin() + count, [&](std::int64_t a, std::int64_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
    std::vector<std::int64_t> text(tokens.begin(), tokens.end());
    for (const std::int64_t candidate : std::span(likeliest).first(count)) {
      text.push_back(candidate);
      const std::vector<std::int64_t> list = lists_.at(text, std::ssize(scores));
      if (std::ranges::find(list, candidate) != list.end()) green.push_back(candidate);
      text.pop_back();
    }
    return green;
  }

  GreenListWatermark watermark_;
  GreenLists lists_;
};

class Tournament : public LogitsProcessor {
 public:
  explicit Tournament(const SynthIdWatermark& watermark) : watermark_(watermark), synth_id_(watermark) {}

  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    if (watermark_.uniform) std::ranges::fill(scores, 1.0F);
    const auto written = context.tokens.subspan(static_cast<std::size_t>(context.limits.prompt));
    if (watermark_.skip_first_ngrams && std::ssize(written) + 1 < watermark_.ngram_length) return;
    const std::int64_t hash = context_hash(written, written.size());
    if (has_come(hash, written)) return;

    const std::int64_t V = std::ssize(scores), rounds = std::ssize(watermark_.keys);
    const Tensor bits = ops::empty({V, rounds}, kFloat);
    float* row = bits.data<float>();
    for (std::int64_t token = 0; token < V; ++token, row += rounds)
      synth_id_.bits(hash, token, {row, static_cast<std::size_t>(rounds)});
    const Tensor mine = tensor_of(scores);
    Tensor probabilities = ops::softmax(mine, 0);  // [V]
    for (std::int64_t round = 0; round < rounds; ++round) {
      const Tensor ones = bits.select(1, round).contiguous();
      probabilities = probabilities * (1 + ones - (ones * probabilities).sum());
    }
    const Tensor logs = probabilities.log();
    mine.copy_(ops::where(logs.isfinite(), logs, std::numeric_limits<float>::lowest()));
  }

 private:
  // For the position after the first `count` tokens; zeros come before a text.
  std::int64_t context_hash(std::span<const std::int64_t> written, std::size_t count) const {
    const auto length = static_cast<std::size_t>(watermark_.ngram_length - 1);
    std::vector<std::int64_t> context(length, 0);
    const std::size_t known = std::min(length, count);
    std::ranges::copy(written.subspan(count - known, known),
                      context.end() - static_cast<std::ptrdiff_t>(known));
    return synth_id_.hash(context);
  }

  // Whether one of the remembered positions had the same context.
  bool has_come(std::int64_t hash, std::span<const std::int64_t> written) const {
    const std::size_t first =
        watermark_.skip_first_ngrams ? static_cast<std::size_t>(watermark_.ngram_length - 1) : 0;
    const std::size_t seen = written.size() - first;
    const auto max = static_cast<std::size_t>(watermark_.context_history);
    if (seen < max && hash == 0) return true;  // the original's memory is initially full of zeros
    for (std::size_t i = written.size() - std::min(seen, max); i < written.size(); ++i)
      if (context_hash(written, i) == hash) return true;
    return false;
  }

  SynthIdWatermark watermark_;
  SynthIdBits synth_id_;
};

}  // namespace

Processor put_watermark(const Watermark& watermark) {
  if (const auto* green = std::get_if<GreenListWatermark>(&watermark))
    return std::make_unique<RaiseGreen>(*green);
  return std::make_unique<Tournament>(std::get<SynthIdWatermark>(watermark));
}

}  // namespace attend
