// Shared by both versions of DeBERTa, in addition to BERT's encoder: disentangled attention and the heads.
#pragma once

#include "models/families/bert_encoder.h"

namespace attend {

// Adds the relative positions of the config (c2p, p2c) to the layers, and removes absolute ones if the config
// says so. Spans are linear.
void disentangle(const Fields& config, StackSpec& encoder);
// The head of the architecture, if it has one.
void add_deberta_head(const Fields& config, std::string_view architecture, ModelSpec& model);
// All names except those of the projections inside attention.
std::vector<WeightName> deberta_weights(const ModelSpec& model);
std::vector<std::string_view> deberta_ignored();

}  // namespace attend
