// Pairs of texts with a similarity score (Reimers & Gurevych 2019, arXiv:1908.10084, section 3): squared
// error between the cosine of their vectors and the score, as in sentence-transformers' CosineSimilarityLoss.
// Scores from -1 to 1 are cosines; others are divided by the maximum of their scale (STS: 5), from
// Recipe::score_range or the largest training score.
#pragma once

#include "objectives/shared/text_vectors.h"

namespace attend {

class ScoredPairs : public Objective {
 public:
  // Throws Error for scores outside their range, or if the range cannot be determined.
  explicit ScoredPairs(const Setting& setting);

  std::vector<Term> terms() const override { return vectors_.terms(); }
  std::int64_t examples() const override { return vectors_.count(); }
  std::int64_t tokens(std::int64_t example) const override { return vectors_.tokens(example); }
  // labels [B]: the scores as cosines.
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  // scores [B, widths]: the cosines.
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  // spearman first: cosines can order pairs well without being equal to the scores.
  std::unique_ptr<Meter> meter() const override;
  std::optional<std::pair<double, double>> score_range() const override { return range_; }

 private:
  ScoredPairs(const Setting& setting, const std::vector<TextPair>& rows);

  TextVectors vectors_;
  std::pair<double, double> range_;
  std::vector<float> targets_;
};

}  // namespace attend
