// Scores over labels as in transformers' heads, with their losses.
#pragma once

#include "models/padded.h"
#include "nn/transformer.h"

#include <map>
#include <string>

namespace attend {

// What a pass ended with.
struct ScoreRows {
  Tensor hidden, pooled;  // [T, d]; [B, d] or undefined
  Tensor first = {};      // [B, d]: of the first column; undefined: of each text's first row
  const Padded& layout;
  const TokenBatch& batch;
  std::int64_t choices = 1;        // texts to a question, for multiple choice
  const Padded* source = nullptr;  // what the encoder read, where there are two stacks
};

// The names of the label inputs that go with this head.
std::vector<std::string> label_inputs(const ScoreHeadSpec& spec);

// What token_type_ids are taken to be where a head tells a question from the text behind it: 0 and 1, [B, L].
// Undefined for other heads.
Tensor types_by_question(const ScoreHeadSpec& spec, const std::map<std::string, Tensor>& inputs);

// Puts the scores into `out` and returns the loss, or nothing without labels. Error for labels of the wrong
// shape or range.
Tensor put_scores(std::map<std::string, Tensor>& out, const std::map<std::string, Tensor>& inputs,
                  Transformer& network, const ScoreRows& rows, Pass& pass);

// Mean squared error; cross-entropy against label numbers [B]; binary cross-entropy against 0/1 [B, labels].
Tensor classification_loss(const Tensor& scores, const Tensor& labels, std::optional<ProblemType> problem);

}  // namespace attend
