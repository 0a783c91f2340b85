// Masked language modelling (Devlin et al. 2018, arXiv:1810.04805, section 3.1): tokens of a text are hidden
// and predicted from the others; different ones in each epoch (Liu et al. 2019, arXiv:1907.11692, section
// 4.1).
#pragma once

#include "data/token_rows.h"
#include "objectives/shared/masking.h"
#include "objectives/shared/meters.h"
#include "objectives/shared/text_frame.h"

namespace attend {

// The masking options of a recipe.
MaskOptions mask_options(const Recipe& recipe);

class MaskedLanguageModel : public Objective {
 public:
  // Joins adjacent sentences of one document until the next does not fit. Throws Error for a model that sees
  // only earlier tokens.
  MaskedLanguageModel(const Setting& setting, const MaskOptions& options);

  std::int64_t examples() const override { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;
  std::unique_ptr<Meter> meter() const override { return perplexity_meter(); }

 private:
  // The files of one language, or all files if tokens have no language.
  struct Source {
    TokenRows rows;
    std::optional<std::int64_t> language;
  };
  struct Block {
    std::size_t source;
    std::int64_t begin, end;  // in the ids of its rows
  };
  TextFrame frame_;
  Masking masking_;
  std::vector<Source> sources_;
  std::vector<Block> blocks_;
};

// Whether texts of this setting have token types.
bool with_types(const Setting& setting);

// A batch of texts with masked tokens, chosen at random for each example; its only count is the number of
// masked tokens.
Batch hide_tokens(std::vector<EncodedText> texts, const Masking& masking,
                  std::span<const std::int64_t> examples, const Draws& draws);

// The hidden states of a model's only stack for batch.tokens, and the loss of batch.token_labels.
struct TokenPredictions {
  Tensor hidden;        // [T, d]
  Tensor loss;          // a sum
  Tensor balance = {};  // nn/layers/experts.h's router_loss; undefined if the model has no experts
};
TokenPredictions predict_tokens(Transformer model, const Batch& batch, Pass& pass,
                                const LossOptions& options);
inline TokenPredictions predict_tokens(Trainee& trainee, const Batch& batch, Pass& pass,
                                       const LossOptions& options) {
  return predict_tokens(trainee.network(), batch, pass, options);
}

// Pieces [begin, end) of the rows' ids: adjacent rows of one group, together at most `longest` tokens; longer
// rows are truncated.
std::vector<std::pair<std::int64_t, std::int64_t>> pack_rows(const TokenRows& rows, std::int64_t longest);

// The documents of a setting's files, or of these, as ids without special tokens.
TokenRows read_documents_as_tokens(const Setting& setting);
TokenRows read_documents_as_tokens(const Setting& setting, const std::vector<std::string>& files);

}  // namespace attend
