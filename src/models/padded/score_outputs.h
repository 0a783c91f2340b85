// Scores over labels as in transformers' heads, with their losses.
#pragma once

#include "models/padded/padded.h"
#include "nn/transformer/transformer.h"

#include <map>
#include <string>

namespace attend {

// The results of a pass that a head reads.
struct ScoreRows {
  Tensor hidden, pooled;  // [T, d]; [B, d] or undefined
  Tensor first = {};      // [B, d]: of the first column; undefined: of each text's first row
  const Padded& layout;
  const TokenBatch& batch;
  std::int64_t choices = 1;        // texts per question, for multiple choice
  const Padded* source = nullptr;  // the encoder's input, if there are two stacks
};

// The names of this head's label inputs.
std::vector<std::string> label_inputs(const ScoreHeadSpec& spec);

// The default token_type_ids of a head that distinguishes a question from the text after it: 0 and 1, [B, L].
// Undefined for other heads.
Tensor types_by_question(const ScoreHeadSpec& spec, const std::map<std::string, Tensor>& inputs);

// Puts the scores into `out` and returns the loss, which is undefined without labels. An Error for labels
// with a wrong shape or range.
Tensor put_scores(std::map<std::string, Tensor>& out, const std::map<std::string, Tensor>& inputs,
                  Transformer& network, const ScoreRows& rows, Pass& pass);

// Mean squared error; cross-entropy with label indices [B]; binary cross-entropy with 0/1 [B, labels].
Tensor classification_loss(const Tensor& scores, const Tensor& labels, std::optional<ProblemType> problem);

}  // namespace attend
