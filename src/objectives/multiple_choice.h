// One right answer among several (Radford et al. 2018, "Improving language understanding by generative
// pre-training", section 3.3; Devlin et al. 2018, arXiv:1810.04805, section 4.4). The model gives one score
// to each choice, read after its question. The loss is the cross-entropy over the choices of a question, as
// in transformers' ...ForMultipleChoice. Questions may have different numbers of choices.
#pragma once

#include "objectives/base/registry.h"
#include "objectives/shared/text_encoder.h"

namespace attend {

class MultipleChoice : public Objective {
 public:
  // A pair of texts for each choice: question and choice; or, with a context, the context and then question
  // and choice joined, as transformers trains on SWAG. If it is too long, the context is truncated.
  explicit MultipleChoice(const Setting& setting);

  std::int64_t examples() const override { return static_cast<std::int64_t>(questions_.size()); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  std::unique_ptr<Meter> meter() const override;

 private:
  struct Question {
    std::size_t begin, end;  // its choices among texts_
    std::int64_t label;
  };
  std::vector<EncodedText> texts_;
  std::vector<Question> questions_;
};

}  // namespace attend
