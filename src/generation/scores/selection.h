// Choosing tokens from a row of scores.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace attend {

constexpr float kNever = -std::numeric_limits<float>::infinity();  // the score of what must not come

// The first of the largest. Error for a row with NaN.
std::int64_t arg_max(std::span<const float> scores);

// The chance that decides one draw, in [0, 1): a function of its arguments alone, so that a text does not
// depend on what else is generated at the same time.
double random_fraction(std::uint64_t seed, std::uint64_t sequence, std::uint64_t step);

// The token in which `fraction` falls when the tokens divide [0, 1) by their probabilities softmax(scores).
// Error if these are no probabilities: NaN, or every token ruled out.
std::int64_t draw(std::span<const float> scores, double fraction);

// Which random numbers a choice uses: those of a step of one text, under a seed.
struct Luck {
  std::uint64_t seed = 0, sequence = 0, step = 0;
};

// log softmax(scores) of tokens.
class LogProbabilities {
 public:
  explicit LogProbabilities(std::span<const float> scores);
  float operator()(std::int64_t token) const;

 private:
  std::span<const float> scores_;
  float largest_;
  double log_sum_;
};
// The same of one token.
float log_probability(std::span<const float> scores, std::int64_t token);

using Scored = std::pair<float, std::int64_t>;  // a score and its place

// The k best of `scores`, best first, with torch.topk's choice and order among equal scores.
std::vector<Scored> top_k(std::span<const float> scores, std::int64_t k);

// The same over several rows of V scores laid end to end, each with `offsets[row]` added to it; they are
// neither copied nor added in memory. Error for NaN.
std::vector<Scored> top_k(std::span<const float* const> rows, std::span<const float> offsets,
                          std::int64_t vocabulary, std::int64_t k);

// k places of such rows, drawn one after the other by their probability (softmax of all the scores with their
// offsets) among those that were not drawn before, in the order in which they were drawn. What is ruled out
// comes only where nothing else is left. Error for NaN.
std::vector<Scored> draw_different(std::span<const float* const> rows, std::span<const float> offsets,
                                   std::int64_t vocabulary, std::int64_t k, const Luck& luck);

}  // namespace attend
