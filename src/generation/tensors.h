// generate() as Hugging Face defines it: padded tensors in, padded tensors out.
#pragma once

#include "generation/generate.h"

#include <map>

namespace attend {

// Inputs: input_ids [B, L] and attention_mask [B, L]; without a mask, padding is recognised as the original
// does. Outputs: sequences [B * num_return_sequences, L'] int64, with the prompt (or the decoder's start
// token) in front and padding behind the end; of a beam search also sequences_scores [B *
// num_return_sequences]; with output_scores also transition_scores [B * num_return_sequences, new tokens],
// the log-probability of each token, and 0 behind the end. Error for an input that is missing, unknown or
// misshapen.
std::map<std::string, Tensor> run_generate(const Model& model, const std::map<std::string, Tensor>& inputs,
                                           const GenerationConfig& config,
                                           const GenerateOptions& options = {});

}  // namespace attend
