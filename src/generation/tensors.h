// generate() as Hugging Face defines it: padded tensors in, padded tensors out.
#pragma once

#include "generation/generate.h"

#include <map>

namespace attend {

// Inputs: input_ids [B, L] and attention_mask [B, L]; without a mask, padding is inferred like in the
// original. For a decoder with an encoder also decoder_input_ids [B, n], its tokens so far, with or without
// the start token. With guidance_scale negative_prompt_ids [B, N] and negative_prompt_attention_mask [B, N];
// their padding has no effect (in the original it shifts positions). Outputs, with R = B *
// num_return_sequences:
// - sequences [R, L'] int64, with the prompt (or the decoder's given tokens, including the start token)
//   before and padding after;
// - for a beam search sequences_scores [R];
// - with output_scores transition_scores [R, new tokens], the log-probability of each token, and 0 after the
//   end;
// - with output_attentions and output_hidden_states those of the whole texts, with the names and layout of
//   run_forward(): attentions.0 [R, heads, L' - 1, L' - 1] and so on, zero for padding. The original returns
//   the same numbers in parts, one for each step. The encoder's have B rows.
// An Error for an input that is missing, unknown or has the wrong shape.
std::map<std::string, Tensor> run_generate(const PretrainedModel& model,
                                           const std::map<std::string, Tensor>& inputs,
                                           const GenerationConfig& config,
                                           const GenerateOptions& options = {});

}  // namespace attend
