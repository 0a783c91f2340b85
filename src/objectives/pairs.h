// Pairs of texts that belong together, and the other pairs' second texts as negatives (Henderson et al. 2017,
// arXiv:1705.00652, section 4.4; van den Oord et al. 2018, arXiv:1807.03748): of all second texts of a batch
// each first one is to find its own by the cosine of their vectors, as in sentence-transformers'
// MultipleNegativesRankingLoss.
//
// A text may come more than once: what is right for a text is no negative of it, and neither is the text
// itself. sentence-transformers draws batches in which no text comes twice instead
// (NoDuplicatesBatchSampler), for which large batches of data with few different texts leave no room.
#pragma once

#include "objectives/text_vectors.h"

namespace attend {

class Pairs : public Objective {
 public:
  explicit Pairs(const Setting& setting);

  std::vector<Term> terms() const override { return vectors_.terms(); }
  std::int64_t examples() const override { return vectors_.count(); }
  std::int64_t tokens(std::int64_t example) const override { return vectors_.tokens(example); }
  // labels [B, 2]: the numbers of both texts of each pair; equal texts have one number.
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

// Of pairs whose texts have these numbers [B, 2]: [B, B] bool, true where the second text of pair j is no
// negative of the first text of pair i although it is another pair's.
Tensor false_negatives(const Tensor& numbers);

}  // namespace attend
