// Pairs of texts with a number that says how alike they are (Reimers & Gurevych 2019, arXiv:1908.10084,
// section 3): squared error of the cosine of their vectors against the score over its range, as
// sentence-transformers' CosineSimilarityLoss. The lowest score of the data becomes 0 and the highest 1 (STS:
// 0 to 5, divided by 5).
#pragma once

#include "objectives/text_vectors.h"

namespace attend {

class ScoredPairs : public Objective {
 public:
  // Error where all scores are the same.
  explicit ScoredPairs(const Setting& setting);

  std::vector<Term> terms() const override { return vectors_.terms(); }
  std::int64_t examples() const override { return vectors_.count(); }
  std::int64_t tokens(std::int64_t example) const override { return vectors_.tokens(example); }
  // labels [B] from 0 to 1.
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  // scores [B, widths]: the cosines.
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  // spearman first: the cosines need not be the scores themselves to order pairs well.
  std::unique_ptr<Meter> meter() const override;

 private:
  ScoredPairs(const Setting& setting, const std::vector<TextPair>& rows);

  TextVectors vectors_;
  std::vector<float> targets_;
};

}  // namespace attend
