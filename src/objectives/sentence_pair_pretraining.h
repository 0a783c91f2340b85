// Masked words together with a classification of two segments of text: whether the second follows the first
// (Devlin et al. 2018, "BERT", arXiv:1810.04805, appendix A.2), or whether they are swapped (Lan et al. 2019,
// "ALBERT", arXiv:1909.11942, section 3.1). The latter masks up to three words in a row by default.
#pragma once

#include "objectives/shared/masking.h"
#include "objectives/shared/sentence_pairs.h"
#include "objectives/shared/text_frame.h"

namespace attend {

class SentencePairPretraining : public Objective {
 public:
  SentencePairPretraining(const Setting& setting, PairTask task);

  std::vector<Term> terms() const override;
  void begin_epoch(std::uint64_t seed, std::int64_t epoch) override;
  std::int64_t examples() const override { return static_cast<std::int64_t>(pairs_.size()); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;

 private:
  TokenRows rows_;
  PairTask task_;
  TextFrame frame_;
  Masking masking_;
  std::int64_t longest_;  // of both segments
  std::vector<SentencePair> pairs_;
};

}  // namespace attend
