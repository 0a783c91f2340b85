// Pairs of texts that belong together; the second texts of other pairs are negatives (Henderson et al. 2017,
// arXiv:1705.00652, section 4.4; van den Oord et al. 2018, arXiv:1807.03748). Each first text must find its
// own second text in the batch by the cosine of their vectors, as in sentence-transformers'
// MultipleNegativesRankingLoss.
//
// Texts may repeat: a text's positives are not its negatives, and neither is the text itself.
// sentence-transformers instead draws batches without repeated texts (NoDuplicatesBatchSampler), which is
// impossible for large batches from data with few different texts.
#pragma once

#include "objectives/shared/text_vectors.h"

namespace attend {

class Pairs : public Objective {
 public:
  explicit Pairs(const Setting& setting);

  std::vector<Term> terms() const override { return vectors_.terms(); }
  std::int64_t examples() const override { return vectors_.count(); }
  std::int64_t tokens(std::int64_t example) const override { return vectors_.tokens(example); }
  // labels [B, 2]: the indices of both texts of each pair; equal texts have the same index.
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  // scores [2B, d]: the vectors, first ones before second ones.
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  // recall@1, recall@10 and mrr of each pair's second text among all different second texts.
  std::unique_ptr<Meter> meter() const override;
  Sharing sharing() const override { return Sharing::batches; }

 private:
  TextVectors vectors_;
  double scale_;
};

// For pairs with these text indices [B, 2]: [B, B] bool, true if the second text of pair j is not a negative
// of the first text of pair i although it belongs to another pair.
Tensor false_negatives(const Tensor& numbers);

}  // namespace attend
