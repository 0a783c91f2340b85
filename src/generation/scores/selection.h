// Chooses tokens from a row of scores.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace attend {

constexpr float kNever = -std::numeric_limits<float>::infinity();  // the score of excluded tokens

// The first of the largest. An Error for a row with NaN.
std::int64_t arg_max(std::span<const float> scores);

// The random number in [0, 1) for one draw: it depends only on its arguments, so a text does not depend on
// other texts that are generated at the same time.
double random_fraction(std::uint64_t seed, std::uint64_t sequence, std::uint64_t step);

// The token at `fraction` when the tokens divide [0, 1) by their probabilities softmax(scores). An Error for
// NaN, or if every token is excluded.
std::int64_t draw(std::span<const float> scores, double fraction);

// Which random numbers a choice uses: those of a step of one text, for a seed.
struct RandomKey {
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
// The same for one token.
float log_probability(std::span<const float> scores, std::int64_t token);

using Scored = std::pair<float, std::int64_t>;  // a score and its index

// The k best of `scores`, best first, with torch.topk's choice and order among equal scores.
std::vector<Scored> top_k(std::span<const float> scores, std::int64_t k);

// The same over several rows of V scores, with `offsets[row]` added to each row; the scores are neither
// copied nor changed in memory. An Error for NaN.
std::vector<Scored> top_k(std::span<const float* const> rows, std::span<const float> offsets,
                          std::int64_t vocabulary, std::int64_t k);

// k indices into such rows, drawn one after another by probability (softmax of all the scores with their
// offsets) among those that were not drawn before, in the order of the draws. Excluded ones are used only if
// nothing else is left. An Error for NaN.
std::vector<Scored> draw_different(std::span<const float* const> rows, std::span<const float> offsets,
                                   std::int64_t vocabulary, std::int64_t k, const RandomKey& random);

}  // namespace attend
