// Mirostat (Basu et al. 2020, arXiv:2007.14966): before a token is sampled, unlikely ones are excluded, as
// many as needed to keep the surprise of sampled tokens near a target. As in llama.cpp
// (llama_sampler_init_mirostat, llama_sampler_init_mirostat_v2). Surprise is in bits.
#pragma once

#include "generation/config/config.h"

#include <span>

namespace attend {

// The state of one text.
class Mirostat {
 public:
  explicit Mirostat(const MirostatTarget& target) : target_(target), max_surprise_(2 * target.surprise) {}

  // scores [V] of the next token. Without a version neither this nor learn() has an effect.
  void truncate(std::span<float> scores) const;
  // Adapts to the token that was drawn from these scores.
  void learn(std::span<const float> scores, std::int64_t token);

 private:
  // How many of these probabilities, the largest first, may be drawn.
  std::size_t first_version(std::span<const double> probabilities, std::size_t vocabulary) const;
  std::size_t second_version(std::span<const double> probabilities) const;

  MirostatTarget target_;
  double max_surprise_;  // the paper's mu
};

}  // namespace attend
