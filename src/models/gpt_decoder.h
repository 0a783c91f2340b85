// The decoder that GPT brought and that GPT-2, CTRL, GPT-Neo and GPT-J kept: what they share of config.json
// and of the blocks.
#pragma once

#include "models/family.h"

namespace attend {

// Where a relative of GPT goes its own way: what counts where its config is silent.
struct GptRelative {
  NormOrder order = NormOrder::pre;
  std::int64_t vocabulary = 50257, width = 768, layers = 12, heads = 12, positions = 1024;
  double norm_epsilon = 1e-5, dropout = 0.1;
};

// Causal layers over token embeddings and trained positions, with a last norm where the order is not post.
// Fields go by GPT-2's names, BERT's, GPT-Neo's or CTRL's.
StackSpec gpt_decoder(const Fields& config, const GptRelative& relative);

// A head over the embedding matrix, for an architecture that has one.
std::optional<LanguageModelHeadSpec> gpt_head(const Fields& config, std::string_view architecture);

}  // namespace attend
